import { request } from 'node:http';
import { once } from 'node:events';

export interface UploadOptions {
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly model: string;
  readonly lines: number;
  readonly bodyOf: (index: number) => Buffer;
}

const CHUNK_BYTES = 256 * 1024;

/** Submits a batch of chats as a program does that makes its lines while it sends them; the id of the batch. */
export async function uploadBatch(options: UploadOptions): Promise<string> {
  const { gatewayUrl, apiKey, model, lines, bodyOf } = options;
  const sending = request(`${gatewayUrl}/batches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  });
  const answered = once(sending, 'response');
  let parts: Buffer[] = [Buffer.from(`{"endpoint":"/v1/chat/completions","model":"${model}","requests":[`)];
  let bytes = 0;
  for (let index = 0; index < lines; index += 1) {
    const body = bodyOf(index);
    parts.push(Buffer.from(`${index === 0 ? '' : ','}{"custom_id":"line-${index}","body":`), body, CLOSE);
    bytes += body.length;
    if (bytes < CHUNK_BYTES) continue;
    if (!sending.write(Buffer.concat(parts))) await once(sending, 'drain');
    [parts, bytes] = [[], 0];
  }
  sending.end(Buffer.concat([...parts, END]));
  const [response] = (await answered) as [NodeJS.ReadableStream & { readonly statusCode?: number }];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  if (response.statusCode !== 202) throw new Error(`the batch was refused with ${response.statusCode}: ${text}`);
  return (JSON.parse(text) as { id: string }).id;
}

const CLOSE = Buffer.from('}');
const END = Buffer.from(']}');
