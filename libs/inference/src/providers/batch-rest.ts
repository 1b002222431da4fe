import { MalformedJson, parseJson, isObject, type JsonObject } from '@libs/json';
import { GatheredPieces } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';
import type { ToError } from '../wire/json-exchange';
import type { NativeBatchAccess, NativeLine } from './native-batch';
import { brokenAnswer } from '../wire/upstream-error';
import type { UpstreamHttp, UpstreamRequest } from '../wire/upstream-http';
import type { UpstreamReply } from '../wire/upstream-exchange';
import type { UpstreamStream } from '../wire/upstream-stream';

const JSON_TYPE = 'application/json';
const NEWLINE = 0x0a;
/** Longest line in bytes. A longer line exceeds the limit for the answer of a single call. */
const LONGEST_LINE = 64 * 1024 * 1024;
/** Statuses of a refused cancellation: the job is already being cancelled, or is writing its results. */
const CANNOT_BE_CALLED_OFF: ReadonlySet<number> = new Set([400, 409]);

/** How to call the batch API of one provider. */
export interface BatchManners {
  /** Returns the key and all other headers of every call: name, value, name, value, …. */
  readonly headersOf: (access: NativeBatchAccess) => readonly string[];
  readonly refusal: ToError;
  /** Returns whether a refusal means that the requested object does not exist. A 404 always does. */
  readonly isGone?: (status: number, body: Buffer) => boolean;
}

export interface BatchCall {
  readonly method?: UpstreamRequest['method'];
  readonly body?: Buffer;
  readonly contentType?: string;
  readonly headers?: readonly string[];
  /** True if the path replaces the path of the base URL instead of being appended to it. */
  readonly isFromRoot?: boolean;
}

/** Calls a batch API: JSON in both directions, and files of JSON lines. */
export class BatchRest {
  readonly #http: UpstreamHttp;
  readonly #manners: BatchManners;

  constructor(http: UpstreamHttp, manners: BatchManners) {
    this.#http = http;
    this.#manners = manners;
  }

  /** Returns the reply of a call with a 2xx status; null if the requested object does not exist. */
  async reply(path: string, access: NativeBatchAccess, call: BatchCall = {}): Promise<UpstreamReply | null> {
    const reply = await this.#any(path, access, call);
    if (isSuccess(reply)) return reply;
    if (this.#isGone(reply)) return null;
    throw this.#refused(reply, access);
  }

  /** Returns the JSON object in the reply of a call; null if the requested object does not exist. */
  async object(path: string, access: NativeBatchAccess, call: BatchCall = {}): Promise<JsonObject | null> {
    const reply = await this.reply(path, access, call);
    return reply && objectIn(reply.body, access.endpoint.provider);
  }

  /** Returns the JSON object in the reply of a call; throws if the requested object does not exist. */
  async existing(path: string, access: NativeBatchAccess, call: BatchCall = {}): Promise<JsonObject> {
    const object = await this.object(path, access, call);
    if (object !== null) return object;
    throw this.#manners.refusal(access.endpoint.provider, 404, {}, Buffer.alloc(0));
  }

  /** Cancels a job. A job that can no longer be cancelled ends by itself, so that is not an error. */
  async callOff(path: string, access: NativeBatchAccess, body: Buffer): Promise<void> {
    const reply = await this.#any(path, access, { body });
    if (isSuccess(reply) || this.#isGone(reply) || CANNOT_BE_CALLED_OFF.has(reply.status)) return;
    throw this.#refused(reply, access);
  }

  /** Deletes a resource. Returns whether it existed. */
  async remove(path: string, access: NativeBatchAccess): Promise<boolean> {
    return (await this.reply(path, access, { method: 'DELETE' })) !== null;
  }

  /** Yields the result of `read` for each line of a file. Skips lines that are not JSON or are cut off. */
  async *lines(
    path: string,
    access: NativeBatchAccess,
    read: (line: Buffer) => NativeLine | null,
    call: BatchCall = {},
  ): AsyncGenerator<NativeLine> {
    const request = requestOf(access, { ...call, method: 'GET' });
    const opened = await this.#http.stream(path, this.#headersOf(access, call), request);
    if (!('read' in opened)) {
      throw this.#manners.refusal(access.endpoint.provider, opened.status, opened.headers, opened.body);
    }
    for await (const line of linesOf(opened)) {
      const result = readOrNull(line, read);
      if (result !== null) yield result;
    }
  }

  #any(path: string, access: NativeBatchAccess, call: BatchCall): Promise<UpstreamReply> {
    return this.#http.request(path, this.#headersOf(access, call), requestOf(access, call));
  }

  #isGone({ status, body }: UpstreamReply): boolean {
    return status === 404 || (this.#manners.isGone?.(status, body) ?? false);
  }

  #refused({ status, headers, body }: UpstreamReply, { endpoint }: NativeBatchAccess): AppError {
    return this.#manners.refusal(endpoint.provider, status, headers, body);
  }

  #headersOf(access: NativeBatchAccess, { body, contentType = JSON_TYPE, headers = [] }: BatchCall): string[] {
    const list = ['accept', JSON_TYPE, ...this.#manners.headersOf(access), ...headers];
    if (body !== undefined) list.push('content-type', contentType);
    return list;
  }
}

function isSuccess({ status }: UpstreamReply): boolean {
  return status >= 200 && status < 300;
}

function requestOf(access: NativeBatchAccess, call: BatchCall): UpstreamRequest {
  const { body, method = body === undefined ? 'GET' : 'POST', isFromRoot = false } = call;
  return { ...access, body: body ?? Buffer.alloc(0), method, isFromRoot };
}

function objectIn(body: Buffer, provider: Provider): JsonObject {
  try {
    const value = parseJson(body);
    if (isObject(value)) return value;
  } catch (thrown) {
    if (!(thrown instanceof MalformedJson)) throw thrown;
  }
  throw brokenAnswer(provider, 'the answer of the batch API is no JSON object');
}

function readOrNull(line: Buffer, read: (line: Buffer) => NativeLine | null): NativeLine | null {
  try {
    return read(line);
  } catch (thrown) {
    if (thrown instanceof MalformedJson) return null;
    throw thrown;
  }
}

/** Yields one line at a time, with at most one line and one network chunk in memory; skips lines that are too long. */
async function* linesOf(stream: UpstreamStream): AsyncGenerator<Buffer> {
  const line = new GatheredPieces();
  let length = 0;
  try {
    for (let chunk = await stream.read(); chunk !== null; chunk = await stream.read()) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        line.add(chunk.subarray(start, end));
        if (length + end - start <= LONGEST_LINE) yield line.take();
        line.clear();
        length = 0;
        start = end + 1;
      }
      length += chunk.length - start;
      if (length > LONGEST_LINE) line.clear();
      else line.add(chunk.subarray(start));
    }
    if (length > 0 && length <= LONGEST_LINE) yield line.take();
  } finally {
    stream.cancel();
  }
}
