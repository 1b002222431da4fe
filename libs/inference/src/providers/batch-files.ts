import { randomBytes } from 'node:crypto';
import { JsonCursor, findValue, spliceMembers, parseJson, numberOf, stringOf } from '@libs/json';
import type { Provider } from '../catalogue/catalogue';
import type { BatchRest } from './batch-rest';
import type { NativeBatchAccess, NativeLine } from './native-batch';
import { brokenAnswer, errorInside, readComplaintAt, upstreamError } from '../wire/upstream-error';

/** Our clock and the provider's clock may differ by this much. */
export const CLOCK_SKEW_MS = 10 * 60_000;

const NOT_RUN: ReadonlySet<string> = new Set(['batch_expired', 'batch_cancelled']);

/** Returns the file names in `files`, without empty or missing ones. */
export function namesIn(files: readonly unknown[]): readonly string[] {
  return files.map(stringOf).filter((file) => file !== undefined && file !== '') as string[];
}

/** Reads a line of an output or error file, which OpenAI, Azure and Mistral write alike. Throws MalformedJson. */
function readOutputLine(line: Buffer, provider: Provider): NativeLine | null {
  const customId = stringOf(valueAt(line, ['custom_id']));
  if (customId === undefined) return null;
  const error = findValue(line, ['error']) ?? NOTHING;
  const complaint = readComplaintAt(new JsonCursor(error), 0);
  if (NOT_RUN.has(complaint.code ?? '')) return { customId, kind: 'not-run' };
  const status = numberOf(valueAt(line, ['response', 'status_code']));
  if (status === undefined) return { customId, kind: 'failed', error: errorInside(provider, complaint) };
  const body = findValue(line, ['response', 'body']) ?? NOTHING;
  if (status >= 200 && status < 300) return { customId, kind: 'answer', body };
  return { customId, kind: 'failed', error: upstreamError(provider, status, {}, body) };
}

const NOTHING = Buffer.from('null');

/** Returns a small value of a line, or undefined. */
export function valueAt(line: Buffer, path: readonly string[]): unknown {
  const value = findValue(line, path);
  return value && parseJson(value);
}

/** Removes `stream`: a batch has no streams, and some APIs refuse the field. */
export function withoutStream(body: Buffer): Buffer {
  return spliceMembers(body, { remove: ['stream', 'stream_options'] });
}

/** Returns a body on one line, between a beginning that opens an object and the brace that closes it. */
export function framed(head: string, body: Buffer): Buffer {
  const line = Buffer.concat([Buffer.from(head), body, CLOSE]);
  // JSON contains raw line breaks only between its tokens, where a space means the same.
  for (let at = 0; at < line.length; at += 1) if (line[at] === 0x0a || line[at] === 0x0d) line[at] = 0x20;
  return line;
}

const CLOSE = Buffer.from('}');
const LINE_BREAK = Buffer.from('\n');

/** Uploads JSON lines as a multipart form with the purpose `batch`. */
export async function uploadFile(
  rest: BatchRest,
  reference: string,
  lines: readonly Buffer[],
  access: NativeBatchAccess,
): Promise<string> {
  const boundary = `----${randomBytes(18).toString('hex')}`;
  const part = (head: string): Buffer =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`);
  const body = Buffer.concat([
    part('name="purpose"'),
    Buffer.from('batch\r\n'),
    part(`name="file"; filename="${reference}.jsonl"\r\nContent-Type: application/jsonl`),
    ...lines.flatMap((line) => [line, LINE_BREAK]),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const file = await rest.existing('/files', access, {
    body,
    contentType: `multipart/form-data; boundary=${boundary}`,
  });
  const id = stringOf(file['id']);
  if (id === undefined) throw brokenAnswer(access.endpoint.provider, 'an uploaded file has no id');
  return id;
}

/** Yields the answers in output and error files, in any order. */
export async function* downloadFiles(
  rest: BatchRest,
  files: readonly string[],
  access: NativeBatchAccess,
): AsyncGenerator<NativeLine> {
  const { provider } = access.endpoint;
  for (const file of files) {
    const path = `/files/${encodeURIComponent(file)}/content`;
    yield* rest.lines(path, access, (line) => readOutputLine(line, provider));
  }
}

/** Removes files; a file that no longer exists is not an error. The batch itself remains, but it holds no text. */
export async function removeFiles(
  rest: BatchRest,
  files: readonly (string | null)[],
  access: NativeBatchAccess,
): Promise<'deleted'> {
  for (const file of files) if (file !== null) await rest.remove(`/files/${encodeURIComponent(file)}`, access);
  return 'deleted';
}
