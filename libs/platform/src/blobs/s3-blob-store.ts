import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { guardConnections, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { sign } from 'aws4';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import { BlobStore, checkBlobKey, type ByteRange } from './blob-store';
import { lengthOf, withExactLength, wrongLength } from './exact-length';
import { FolderBlobStore } from './folder-blob-store';

/** More than the downloads that the gateway serves at once. */
const CONNECTIONS = 80;
const IDLE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Time for the head of an answer, all bytes of an upload included. */
const HEAD_MS = { GET: 60_000, PUT: 900_000, DELETE: 60_000 };
/** A body that is of no interest may end by itself, which keeps the connection. */
const REST_MS = 1_000;
const MOST_REST_BYTES = 64 * 1024;
const DEFAULT_REGION = 'us-east-1';
/** The body of an upload is not part of its signature: it is read only once, from a file, while it is sent. */
const UNSIGNED = 'UNSIGNED-PAYLOAD';

interface Wire {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readable;
}

/**
 * Blobs as objects of a bucket, by the S3 REST API with URLs of the form `host/bucket/key`. An upload is first written
 * to a file, because its length must be known before its first byte.
 */
export class S3BlobStore extends BlobStore {
  readonly #pool: Pool;
  readonly #host: string;
  readonly #prefix: string;
  readonly #region: string;
  readonly #credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };

  /** `https://KEY:SECRET@host/bucket/prefix?region=eu-central-1` */
  constructor(location: Secret) {
    super();
    const url = new URL(location.reveal());
    this.#pool = new Pool(url.origin, {
      connections: CONNECTIONS,
      headersTimeout: IDLE_MS,
      bodyTimeout: IDLE_MS,
      connect: guardConnections(buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false })),
    });
    this.#host = url.host;
    this.#prefix = url.pathname.replace(/\/$/, '');
    this.#region = url.searchParams.get('region') ?? DEFAULT_REGION;
    this.#credentials = {
      accessKeyId: decodeURIComponent(url.username),
      secretAccessKey: decodeURIComponent(url.password),
    };
  }

  override async write(key: string, chunks: AsyncIterable<Buffer>, contentType: string): Promise<number> {
    checkBlobKey(key);
    const folder = await mkdtemp(join(tmpdir(), 'blob-'));
    try {
      const bytes = await new FolderBlobStore(folder).write('upload', chunks);
      const file = join(folder, 'upload');
      const { size } = await stat(file);
      const headers = { 'content-length': String(size), 'content-type': contentType };
      const upload = createReadStream(file);
      const { body } = await this.#send({ method: 'PUT', key, headers, body: upload }, [200]);
      discard(body);
      if (upload.bytesRead < size) throw unavailable('answered before the upload had ended');
      return bytes;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  override async read(key: string, bytes: number, range?: ByteRange): Promise<Readable> {
    const headers: Record<string, string> = range ? { range: `bytes=${range.first}-${range.last}` } : {};
    const answer = await this.#send({ method: 'GET', key, headers }, range ? [206] : [200]);
    const length = lengthOf(bytes, range);
    if (Number(answer.headers['content-length'] ?? length) === length) return withExactLength(answer.body, length);
    discard(answer.body);
    throw wrongLength();
  }

  override async remove(key: string): Promise<void> {
    const { body } = await this.#send({ method: 'DELETE', key }, [200, 204, 404]);
    discard(body);
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #send({ method, key, headers = {}, body }: Wire, fine: readonly number[]): Promise<Dispatcher.ResponseData> {
    const path = `${this.#prefix}/${checkBlobKey(key)}`;
    const signed = sign(
      {
        service: 's3',
        region: this.#region,
        method,
        path,
        headers: { host: this.#host, 'x-amz-content-sha256': UNSIGNED, ...headers },
      },
      this.#credentials,
    );
    const time = new AbortController();
    const timer = setTimeout(() => time.abort(), HEAD_MS[method]);
    let answer: Dispatcher.ResponseData;
    try {
      answer = await this.#pool.request({
        method,
        path,
        headers: signed.headers as Record<string, string>,
        body: body ?? null,
        signal: time.signal,
      });
    } catch (error) {
      body?.destroy();
      throw unavailable('cannot be reached', error);
    } finally {
      clearTimeout(timer);
    }
    if (fine.includes(answer.statusCode)) return answer;
    discard(answer.body);
    if (answer.statusCode === 404) throw new AppError('not_found', 'Not found', { internal: 'a blob is gone' });
    throw unavailable(`answered ${answer.statusCode}`);
  }
}

/** Nothing waits for the rest of an answer: a bucket could send it byte by byte. */
function discard(body: Dispatcher.ResponseData['body']): void {
  body.dump({ limit: MOST_REST_BYTES, signal: AbortSignal.timeout(REST_MS) }).catch(() => undefined);
}

function unavailable(why: string, cause?: unknown): AppError {
  return new AppError('server', 'Internal error', { internal: `the bucket of videos ${why}`, cause });
}
