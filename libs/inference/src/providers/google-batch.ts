import { findValue, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import { BatchRest, type BatchManners } from './batch-rest';
import { googleErrorInside } from '../dialects/google-generate-content/error';
import type {
  BatchedApi,
  LostOrder,
  NativeBatchAccess,
  NativeBatches,
  NativeJob,
  NativeLine,
  NativeOrder,
} from './native-batch';
import { framed, valueAt } from './batch-files';
import { brokenAnswer, upstreamStatusOf } from '../wire/upstream-error';
import type { UpstreamHttp } from '../wire/upstream-http';

const JSON_LINES = 'application/jsonl';
const LISTED = 100;
const MOST_PAGES = 20;
/** Names of final states: `BATCH_STATE_…` on the REST API, `JOB_STATE_…` in the SDKs. */
const ENDED = /_(?:SUCCEEDED|FAILED|CANCELLED|EXPIRED)$/;
const NOT_RUN_CODES: ReadonlySet<unknown> = new Set([1, 'CANCELLED']);
const EMPTY_OBJECT = Buffer.from('{}');
const LINE_BREAK = Buffer.from('\n');

/** The batch mode of the Gemini API, with files. The display name of a batch is our reference. */
export class GoogleBatches implements NativeBatches {
  readonly mostLines = 50_000;
  readonly apis: readonly BatchedApi[] = ['conversation'];
  readonly #rest: BatchRest;

  constructor(http: UpstreamHttp, manners: BatchManners) {
    this.#rest = new BatchRest(http, manners);
  }

  line(customId: string, body: Buffer): Buffer {
    return framed(`{"key":"${customId}","request":`, body);
  }

  async upload({ reference, lines }: Pick<NativeOrder, 'reference' | 'lines'>, access: NativeBatchAccess) {
    const bytes = Buffer.concat(lines.flatMap((line) => [line, LINE_BREAK]));
    const started = await this.#rest.reply(`/upload${prefixOf(access)}/files`, access, {
      isFromRoot: true,
      body: Buffer.from(JSON.stringify({ file: { display_name: reference } })),
      headers: Object.entries({
        'x-goog-upload-protocol': 'resumable',
        'x-goog-upload-command': 'start',
        'x-goog-upload-header-content-length': String(bytes.length),
        'x-goog-upload-header-content-type': JSON_LINES,
      }).flat(),
    });
    const finished = await this.#rest.existing(uploadPath(started?.headers['x-goog-upload-url'], access), access, {
      isFromRoot: true,
      body: bytes,
      contentType: JSON_LINES,
      headers: ['x-goog-upload-offset', '0', 'x-goog-upload-command', 'upload, finalize'],
    });
    const name = stringOf(objectOf(finished['file'])['name']);
    if (name === undefined) throw brokenAnswer(access.endpoint.provider, 'an uploaded file has no name');
    return name;
  }

  async create({ reference, inputFileId }: NativeOrder, access: NativeBatchAccess): Promise<NativeJob> {
    const { upstreamModel } = access.endpoint;
    const model = encodeURI(upstreamModel.includes('/') ? upstreamModel : `models/${upstreamModel}`);
    const order = { batch: { display_name: reference, input_config: { file_name: inputFileId } } };
    const body = Buffer.from(JSON.stringify(order));
    return jobOf(await this.#rest.existing(`/${model}:batchGenerateContent`, access, { body }), access);
  }

  async find({ reference }: LostOrder, access: NativeBatchAccess): Promise<readonly NativeJob[]> {
    let token = '';
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const list = await this.#rest.existing(`/batches?pageSize=${LISTED}${token}`, access);
      const jobs = objectsOf(list['operations'] ?? list['batches']).map((batch) => jobOf(batch, access));
      const found = jobs.filter((job) => job.reference === reference);
      const next = stringOf(list['nextPageToken']);
      if (found.length > 0 || !next) return found;
      token = `&pageToken=${encodeURIComponent(next)}`;
    }
    return [];
  }

  async poll(id: string, access: NativeBatchAccess): Promise<NativeJob | null> {
    const batch = await this.#rest.object(`/${encodeURI(id)}`, access);
    return batch && jobOf(batch, access);
  }

  async *download(job: NativeJob, access: NativeBatchAccess): AsyncGenerator<NativeLine> {
    for (const file of job.outputs) {
      const path = `/download${prefixOf(access)}/${encodeURI(file)}:download?alt=media`;
      yield* this.#rest.lines(path, access, (line) => readResponse(line, access), { isFromRoot: true });
    }
  }

  async cancel(id: string, access: NativeBatchAccess): Promise<void> {
    const job = await this.poll(id, access);
    if (job?.state !== 'running') return;
    await this.#rest.callOff(`/${encodeURI(id)}:cancel`, access, EMPTY_OBJECT);
  }

  /**
   * Removes the input file. The API refuses to delete output files, because it considers their names too long; it
   * deletes them itself later.
   */
  async remove(
    { id, inputFileId, outputs }: Parameters<NativeBatches['remove']>[0],
    access: NativeBatchAccess,
  ): Promise<'deleted' | 'unsupported'> {
    for (const name of [id, inputFileId]) if (name !== null) await this.#rest.remove(`/${encodeURI(name)}`, access);
    let outcome: 'deleted' | 'unsupported' = 'deleted';
    for (const file of outputs) if (!(await this.#removeOutput(file, access))) outcome = 'unsupported';
    return outcome;
  }

  async #removeOutput(file: string, access: NativeBatchAccess): Promise<boolean> {
    try {
      await this.#rest.remove(`/${encodeURI(file)}`, access);
      return true;
    } catch (thrown) {
      if (thrown instanceof AppError && upstreamStatusOf(thrown) === 400) return false;
      throw thrown;
    }
  }
}

/** Returns the path of the base URL, e.g. `/v1beta`. */
function prefixOf({ endpoint: { provider } }: NativeBatchAccess): string {
  return new URL(provider.baseUrl).pathname.replace(/\/$/, '');
}

/** Returns the path for the upload. Never uses another host, because the key is sent there. */
function uploadPath(address: string | readonly string[] | undefined, { endpoint }: NativeBatchAccess): string {
  const url = typeof address === 'string' ? URL.parse(address) : null;
  if (url !== null && url.origin === new URL(endpoint.provider.baseUrl).origin) return url.pathname + url.search;
  throw brokenAnswer(endpoint.provider, 'an upload goes on nowhere');
}

/** Reads a batch, which the API returns as an operation (`{name, metadata, done, response}`). */
function jobOf(operation: JsonObject, { endpoint: { provider } }: NativeBatchAccess): NativeJob {
  const batch = { ...operation, ...objectOf(operation['metadata']) } as JsonObject;
  const id = stringOf(operation['name']) ?? stringOf(batch['name']);
  if (id === undefined) throw brokenAnswer(provider, 'a batch has no name');
  const state = stringOf(batch['state']) ?? '';
  const isEnded = operation['done'] === true || ENDED.test(state);
  const output = { ...objectOf(batch['output']), ...objectOf(operation['response']) };
  const file = stringOf(output['responsesFile']);
  return {
    id,
    state: isEnded ? 'ended' : 'running',
    reference: stringOf(batch['displayName']) ?? null,
    outputs: file === undefined ? [] : [file],
    answers: countOf(objectOf(batch['batchStats'])['successfulRequestCount']),
    failure: state.endsWith('_FAILED') ? state : null,
  };
}

/** Counts of 64 bits come as text. */
function countOf(value: unknown): number | undefined {
  const text = typeof value === 'number' ? String(value) : (stringOf(value) ?? '');
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function readResponse(line: Buffer, { endpoint: { provider } }: NativeBatchAccess): NativeLine | null {
  const customId = stringOf(valueAt(line, ['key']));
  if (customId === undefined) return null;
  const body = findValue(line, ['response']);
  if (body !== undefined) return { customId, kind: 'answer', body };
  const told = objectOf(valueAt(line, ['error']));
  if (NOT_RUN_CODES.has(told['code']) || NOT_RUN_CODES.has(told['status'])) return { customId, kind: 'not-run' };
  return { customId, kind: 'failed', error: googleErrorInside(provider, { error: httpError(told) }) };
}

/** HTTP statuses by gRPC code: lines of a batch carry gRPC codes. */
const HTTP_OF_GRPC: Readonly<Record<number, number>> = { 3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 14: 503, 16: 401 };

function httpError(error: JsonObject): JsonObject {
  const code = error['code'];
  if (typeof code !== 'number' || code >= 100) return error;
  return { ...error, code: HTTP_OF_GRPC[code] ?? 500 };
}
