import { type JsonObject, isObject, stringOf } from '@libs/json';
import { AppError, systemCodeOf } from '@libs/errors';
import { scrub } from '../../wire/scrub';
import { brokenAnswer, upstreamError } from '../../wire/upstream-error';
import type { UpstreamReply } from '../../wire/upstream-exchange';
import type { UpstreamHttp, UpstreamRequest } from '../../wire/upstream-http';
import type { OpenedVideo, VideoAccess, VideoMedia, VideoOutput, VideoStart } from '../../videos/video-provider';

/** An output with an address. */
export type AddressedOutput = Exclude<VideoOutput, { readonly answer: unknown }>;

/** Headers as name, value, name, value, …. */
export type VideoHeaders = (apiKey: string) => readonly string[];
type ReadError = typeof upstreamError;

const JSON_TYPE = 'application/json';
const NOTHING = Buffer.alloc(0);

/** The request never left this machine. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Reads the answer to a submission. */
export type ReadStart = (answer: JsonObject) => VideoStart | null;

/** The few kinds of calls that all video APIs consist of. */
export class VideoRest {
  readonly #http: UpstreamHttp;
  readonly #headers: VideoHeaders;
  readonly #readError: ReadError;

  constructor(http: UpstreamHttp, headers: VideoHeaders, readError: ReadError = upstreamError) {
    this.#http = http;
    this.#headers = headers;
    this.#readError = readError;
  }

  /**
   * Submits a job. Returns a refusal if certainly no job exists: if nothing was sent, or the status is 529, 503 with
   * `Retry-After`, or an error below 500 other than 408. Throws after any other failure, because a job may exist.
   */
  async start(
    path: string,
    body: object,
    access: VideoAccess,
    { read, headers = [] }: { read: ReadStart; headers?: readonly string[] },
  ): Promise<VideoStart> {
    let reply: UpstreamReply;
    try {
      reply = await this.#send('POST', path, Buffer.from(JSON.stringify(body)), access, headers);
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (wasNotSent(error)) return { kind: 'refused', error };
      throw error;
    }
    if (!isSuccess(reply)) {
      const error = this.#errorOf(reply, access);
      if (isDefinite(reply)) return { kind: 'refused', error };
      throw error;
    }
    const started = read(parsed(reply, access));
    if (started === null) throw brokenAnswer(access.endpoint.provider, 'a video job without an id');
    return started;
  }

  async get(path: string, access: VideoAccess): Promise<JsonObject> {
    const reply = await this.#send('GET', path, NOTHING, access);
    if (!isSuccess(reply)) throw this.#errorOf(reply, access);
    return parsed(reply, access);
  }

  /** Opens the bytes of an output. A redirect leads to a place that needs no key, so none is sent there. */
  async open(output: AddressedOutput, access: VideoAccess): Promise<OpenedVideo> {
    if ('url' in output) return { kind: 'link', url: output.url };
    const call: UpstreamRequest = { ...access, method: 'GET', body: NOTHING };
    const opened = await this.#http.stream(output.path, this.#headersOf(access, '*/*'), call);
    if ('read' in opened) return { kind: 'stream', stream: opened };
    const { location } = opened.headers;
    if (opened.status >= 300 && opened.status < 400 && location !== undefined) {
      return { kind: 'link', url: new URL(location, access.endpoint.provider.baseUrl).href };
    }
    throw this.#errorOf(opened, access);
  }

  #send(
    method: 'GET' | 'POST',
    path: string,
    body: Buffer,
    access: VideoAccess,
    headers: readonly string[] = [],
  ): Promise<UpstreamReply> {
    const type = method === 'POST' ? ['content-type', JSON_TYPE] : [];
    const call: UpstreamRequest = { ...access, method, body };
    return this.#http.request(path, [...type, ...this.#headersOf(access, JSON_TYPE), ...headers], call);
  }

  #headersOf({ apiKey }: VideoAccess, accept: string): string[] {
    return ['accept', accept, ...(apiKey === null ? [] : this.#headers(apiKey.reveal()))];
  }

  #errorOf({ status, headers, body }: UpstreamReply, { endpoint }: VideoAccess): AppError {
    return this.#readError(endpoint.provider, status, headers, body);
  }
}

function isSuccess({ status }: UpstreamReply): boolean {
  return status >= 200 && status < 300;
}

function isDefinite({ status, headers }: UpstreamReply): boolean {
  if (status === 503 || status === 529) return status === 529 || headers['retry-after'] !== undefined;
  return status < 500 && status !== 408;
}

function wasNotSent({ code, cause }: AppError): boolean {
  // Refused by the gateway's own limit on calls, before anything was sent.
  if (code === 'provider_overloaded' && cause === undefined) return true;
  return NOT_SENT.has(systemCodeOf(cause) ?? '');
}

function parsed(reply: UpstreamReply, { endpoint }: VideoAccess): JsonObject {
  let answer: unknown;
  try {
    answer = JSON.parse(reply.body.toString());
  } catch (error) {
    throw brokenAnswer(endpoint.provider, 'the answer about a video job is no JSON', error);
  }
  if (isObject(answer)) return answer;
  throw brokenAnswer(endpoint.provider, 'the answer about a video job is no object');
}

/** @throws AppError if a provider reports a different job than the requested one */
export function checkSameJob(asked: unknown, told: unknown, { endpoint }: VideoAccess): void {
  if (told === undefined || told === asked) return;
  throw brokenAnswer(endpoint.provider, 'the provider answered with another video job');
}

/** Returns the provider's id of the job: the one field that every operation has. */
export function idOf(operation: JsonObject): string {
  const id = stringOf(operation['id']);
  if (id !== undefined) return id;
  throw new AppError('server', 'Internal error', { internal: 'a video operation without id' });
}

export function accepted(id: unknown): VideoStart | null {
  return typeof id === 'string' && id !== '' && id.length <= 1_000 ? { kind: 'accepted', operation: { id } } : null;
}

/** Returns a provider's own explanation of why there is no video, if it may be shown. */
export function failureOf(words: unknown, fallback = 'The provider could not make the video'): string {
  return scrub(stringOf(words) ?? '') || fallback;
}

/**
 * Returns the places of the outputs that a provider links to: below its own base URL, where its key is needed, or at a
 * public https link. Any other link makes the answer invalid.
 */
export function linksOf(urls: readonly unknown[], access: VideoAccess): VideoOutput[] {
  if (urls.length === 0) throw withoutLink(access);
  return urls.map((url) => outputAt(typeof url === 'string' ? URL.parse(url) : null, access));
}

function outputAt(link: URL | null, access: VideoAccess): VideoOutput {
  const base = new URL(access.endpoint.provider.baseUrl);
  const root = base.pathname.replace(/\/$/, '');
  if (link?.origin === base.origin && link.pathname.startsWith(`${root}/`)) {
    return { path: link.pathname.slice(root.length) + link.search };
  }
  if (link?.protocol !== 'https:') throw withoutLink(access);
  return { url: link.href };
}

function withoutLink({ endpoint }: VideoAccess): AppError {
  return brokenAnswer(endpoint.provider, 'a finished video without a link');
}

export function dataUrl({ mediaType, data }: VideoMedia): string {
  return `data:${mediaType};base64,${data}`;
}
