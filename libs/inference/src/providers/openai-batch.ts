import { randomBytes } from 'node:crypto';
import { findValue, spliceMembers } from '../dialects/json-members';
import { JsonCursor } from '../dialects/json-cursor';
import { parseJson } from '../dialects/json-value';
import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '../dialects/loose-values';
import type { Provider } from '../routing/catalogue';
import { BatchRest, type BatchManners } from './batch-rest';
import type {
  BatchedApi,
  LostOrder,
  NativeBatchAccess,
  NativeBatches,
  NativeJob,
  NativeLine,
  NativeOrder,
} from './native-batch';
import { brokenAnswer, errorInside, readComplaintAt, upstreamError } from './upstream-error';
import type { UpstreamHttp } from './upstream-http';

/** Listed at once, and how many lists of them are looked through. */
const LISTED = 100;
const MOST_LISTS = 20;
const REFERENCE = 'gateway_reference';
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
const NOT_RUN: ReadonlySet<string> = new Set(['batch_expired', 'batch_cancelled']);
const EMPTY = Buffer.alloc(0);

export interface OpenAiBatchOptions extends BatchManners {
  /** What a batch and its lines call the endpoint they are for; an API that is absent cannot be batched. */
  readonly endpoints: Readonly<Partial<Record<BatchedApi, string>>>;
  readonly mostLines: number;
}

/** The batch API of OpenAI (`/files`, `/batches`), which Azure speaks too. A batch cannot be removed, its files can. */
export class OpenAiBatches implements NativeBatches {
  readonly mostLines: number;
  readonly #rest: BatchRest;
  readonly #endpoints: OpenAiBatchOptions['endpoints'];

  constructor(http: UpstreamHttp, { endpoints, mostLines, ...manners }: OpenAiBatchOptions) {
    this.#rest = new BatchRest(http, manners);
    this.#endpoints = endpoints;
    this.mostLines = mostLines;
  }

  runs(api: BatchedApi): boolean {
    return this.#endpoints[api] !== undefined;
  }

  line(customId: string, body: Buffer, api: BatchedApi): Buffer {
    const head = `{"custom_id":"${customId}","method":"POST","url":"${this.#endpoints[api]}","body":`;
    return framed(head, withoutStream(body));
  }

  async upload({ reference, lines }: Pick<NativeOrder, 'reference' | 'lines'>, access: NativeBatchAccess) {
    return uploadFile(this.#rest, reference, lines, access);
  }

  async create({ reference, api, inputFileId }: NativeOrder, access: NativeBatchAccess): Promise<NativeJob> {
    const order = {
      input_file_id: inputFileId,
      endpoint: this.#endpoints[api],
      completion_window: '24h',
      metadata: { [REFERENCE]: reference },
    };
    const body = Buffer.from(JSON.stringify(order));
    return jobOf(await this.#rest.existing('/batches', access, { body }), access);
  }

  async find({ reference, sinceMs }: LostOrder, access: NativeBatchAccess): Promise<readonly NativeJob[]> {
    let after = '';
    for (let lists = 0; lists < MOST_LISTS; lists += 1) {
      const list = await this.#rest.existing(`/batches?limit=${LISTED}${after}`, access);
      const batches = objectsOf(list['data']);
      const found = batches.filter(({ metadata }) => objectOf(metadata)[REFERENCE] === reference);
      if (found.length > 0) return found.map((batch) => jobOf(batch, access));
      const last = batches.at(-1);
      const lastId = stringOf(last?.['id']);
      // Newest first: what is older than the order cannot be it.
      const isPast = (numberOf(last?.['created_at']) ?? 0) * 1_000 < sinceMs - CLOCK_SKEW_MS;
      if (list['has_more'] !== true || lastId === undefined || isPast) return [];
      after = `&after=${encodeURIComponent(lastId)}`;
    }
    return [];
  }

  async poll(id: string, access: NativeBatchAccess): Promise<NativeJob | null> {
    const batch = await this.#rest.object(`/batches/${encodeURIComponent(id)}`, access);
    return batch && jobOf(batch, access);
  }

  async *download(job: NativeJob, access: NativeBatchAccess): AsyncGenerator<NativeLine> {
    const { provider } = access.endpoint;
    for (const file of job.outputs) {
      const path = `/files/${encodeURIComponent(file)}/content`;
      yield* this.#rest.lines(path, access, (line) => readOutputLine(line, provider));
    }
  }

  async cancel(id: string, access: NativeBatchAccess): Promise<void> {
    const job = await this.poll(id, access);
    if (job?.state !== 'running') return;
    await this.#rest.object(`/batches/${encodeURIComponent(id)}/cancel`, access, { body: EMPTY });
  }

  async remove(
    { inputFileId, outputs }: Parameters<NativeBatches['remove']>[0],
    access: NativeBatchAccess,
  ): Promise<'deleted' | 'unsupported'> {
    return removeFiles(this.#rest, [inputFileId, ...outputs], access);
  }
}

/** Our clock and the provider's may differ by this much. */
export const CLOCK_SKEW_MS = 10 * 60_000;

function jobOf(batch: JsonObject, { endpoint: { provider } }: NativeBatchAccess): NativeJob {
  const id = stringOf(batch['id']);
  if (id === undefined) throw brokenAnswer(provider, 'a batch has no id');
  const status = stringOf(batch['status']) ?? '';
  const [problem] = objectsOf(objectOf(batch['errors'])['data']);
  return {
    id,
    state: ENDED.has(status) ? 'ended' : 'running',
    reference: stringOf(objectOf(batch['metadata'])[REFERENCE]) ?? null,
    outputs: namesIn([batch['output_file_id'], batch['error_file_id']]),
    failure: status === 'failed' ? (stringOf(problem?.['code']) ?? 'no reason given') : null,
  };
}

/** Those that there are. */
export function namesIn(files: readonly unknown[]): readonly string[] {
  return files.map(stringOf).filter((file) => file !== undefined && file !== '') as string[];
}

/** A line of an output or error file, which OpenAI, Azure and Mistral write alike. Throws MalformedJson. */
export function readOutputLine(line: Buffer, provider: Provider): NativeLine | null {
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

/** A small value of a line, or undefined. */
export function valueAt(line: Buffer, path: readonly string[]): unknown {
  const value = findValue(line, path);
  return value && parseJson(value);
}

/** A batch has no streams, and some APIs refuse the word. */
export function withoutStream(body: Buffer): Buffer {
  return spliceMembers(body, { remove: ['stream', 'stream_options'] });
}

/** A body between a head that opens an object and the brace that closes it, on one line. */
export function framed(head: string, body: Buffer): Buffer {
  const line = Buffer.concat([Buffer.from(head), body, CLOSE]);
  // JSON has line breaks between its members only, where a space says the same.
  for (let at = 0; at < line.length; at += 1) if (line[at] === 0x0a || line[at] === 0x0d) line[at] = 0x20;
  return line;
}

const CLOSE = Buffer.from('}');
const LINE_BREAK = Buffer.from('\n');

/** JSON lines as a multipart form with the purpose `batch`. */
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

/** Removes files; one that is gone already is as good. The batch itself stays, but holds no text. */
export async function removeFiles(
  rest: BatchRest,
  files: readonly (string | null)[],
  access: NativeBatchAccess,
): Promise<'deleted'> {
  for (const file of files) if (file !== null) await rest.remove(`/files/${encodeURIComponent(file)}`, access);
  return 'deleted';
}
