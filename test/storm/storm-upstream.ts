import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { BilledVideos, RECALLS, type Recall } from '../support/billed-videos';
import { markerOf } from '../support/upstream-answer';
import type { Behaviour, UpstreamCall } from '../support/upstream-script';
import { OpenaiBatches } from '../../tools/sandbox-provider/src/batches/openai-batches';
import { Files } from '../../tools/sandbox-provider/src/files/files';
import { jsonReply, type Call, type Handle, type Reply } from '../../tools/sandbox-provider/src/http/reply';
import { RouteTable, type Route } from '../../tools/sandbox-provider/src/http/route-table';
import { errorReply, SandboxError } from '../../tools/sandbox-provider/src/http/sandbox-error';
import { CALL_APIS, type CallApi } from './evidence';
import type { UpstreamName } from './parts';
import { Random } from './random';
import { DIALECTS, PATHS, promptOf, type InferenceBody } from './upstream-dialects';

/** How a group of providers treats its callers at the moment. */
export type Mood = 'well' | 'unavailable' | 'rate-limited' | 'slow' | 'malformed' | 'resets';

/** A prompt with these words is refused with 400, always. */
export const REFUSED_WORDS = 'refuse me';

const BEHAVIOURS: Readonly<Record<Mood, Behaviour>> = {
  well: 'answer',
  slow: 'answer',
  unavailable: 'server-error',
  'rate-limited': 'rate-limited',
  malformed: 'malformed',
  resets: 'hang',
};

const LATENCY_MS = { least: 5, most: 60 };
const SLOW_MS = { least: 500, most: 3_000 };
const CHUNK_PAUSE_MS = 8;
const NATIVE_BATCH_MS = 1_200;
const MIB = 1_048_576;

/** The providers of a storm behind one port: `/calls/v1/…`, `/native/v1/…`, `/keyed/v1/…` and so on for films. */
export class StormUpstream {
  readonly calls: UpstreamCall[] = [];
  readonly films: Readonly<Record<Recall, BilledVideos>>;
  readonly #moods: Record<UpstreamName, Mood> = { calls: 'well', native: 'well', films: 'well' };
  readonly #random: Random;
  readonly #native: RouteTable;
  readonly #batches: OpenaiBatches;

  private constructor(
    private readonly server: Server,
    seed: number,
  ) {
    this.#random = Random.for(seed, 'upstream');
    const silent = { submitted: () => undefined, fetched: () => undefined };
    const [keyed, listed, plain] = RECALLS.map((recall) => new BilledVideos(recall, silent));
    this.films = { keyed: keyed!, listed: listed!, plain: plain! };
    const files = new Files();
    const line = (api: CallApi): Handle => {
      return ({ body }) => this.#answerLine(api, JSON.parse(body.toString()) as InferenceBody);
    };
    const handles = new Map([
      ['/v1/chat/completions', line('chat')],
      ['/v1/embeddings', line('embeddings')],
    ]);
    this.#batches = new OpenaiBatches(files, handles, NATIVE_BATCH_MS);
    this.#native = new RouteTable(nativeRoutes(files, this.#batches));
    server.on('request', (request, response) => void this.#serve(request, response));
    // A caller decides how long it keeps a connection; closing an idle one under it would look like a fault.
    server.keepAliveTimeout = 0;
    server.requestTimeout = 0;
  }

  static async start(seed: number): Promise<StormUpstream> {
    const server = createServer();
    const upstream = new StormUpstream(server, seed);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return upstream;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  setMood(name: UpstreamName, mood: Mood): void {
    this.#moods[name] = mood;
  }

  /** How many films were made for each of our ids. */
  filmsMade(): Map<string, number> {
    return new Map(RECALLS.flatMap((recall) => [...this.films[recall].paidFor()]));
  }

  async stop(): Promise<void> {
    this.#batches.close();
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      await this.#answer(request, response, Buffer.concat(chunks));
    } catch (error) {
      // The caller or a fault ended the connection; anything else is a defect of this upstream and must show.
      if (!request.destroyed && !response.headersSent) sendJson(response, 500, complaint(String(error)));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const [, place = '', ...rest] = (request.url ?? '/').split('/');
    const path = `/${rest.join('/')}`;
    const group: UpstreamName = place === 'calls' || place === 'native' ? place : 'films';
    const api = CALL_APIS.find((one) => path === `/v1${PATHS[one]}`);
    if (api !== undefined) return this.#infer(group, api, response, JSON.parse(body.toString()) as InferenceBody);
    if (!this.#isWell(group, response)) return;
    if (group === 'native') return this.#answerNative(request, response, path, body);
    const { method = '', headers } = request;
    this.films[place as Recall].answer(response, { method, path: request.url ?? '', headers, body: body.toString() });
  }

  /** Answers in the place of a provider that is not well. A slow one is well here: jobs take their time anyway. */
  #isWell(group: UpstreamName, response: ServerResponse): boolean {
    const mood = this.#moods[group];
    if (mood === 'well' || mood === 'slow') return true;
    misbehave(mood, response, () => '{"id":"job_');
    return false;
  }

  async #infer(group: UpstreamName, api: CallApi, response: ServerResponse, body: InferenceBody): Promise<void> {
    const mood = this.#moods[group];
    const prompt = promptOf(body);
    const call = this.#log(group, prompt, BEHAVIOURS[mood]);
    response.once('close', () => {
      call.endMs = Date.now();
      call.status = response.writableFinished ? response.statusCode : 0;
    });
    const { least, most } = mood === 'slow' ? SLOW_MS : LATENCY_MS;
    await delay(this.#random.int(least, most));
    if (response.destroyed) return;
    const dialect = DIALECTS[api];
    if (mood !== 'well' && mood !== 'slow') {
      return misbehave(mood, response, () => JSON.stringify(dialect.whole(body.model, prompt)).slice(0, -30));
    }
    if (prompt.includes(REFUSED_WORDS)) return sendJson(response, 400, complaint('No', 'invalid_request_error'));
    if (body.stream !== true) return sendJson(response, 200, JSON.stringify(dialect.whole(body.model, prompt)));
    await stream(response, dialect.events(body.model, prompt));
  }

  #log(script: string, prompt: string, behaviour: Behaviour): UpstreamCall {
    const startMs = Date.now();
    const marker = markerOf(prompt) ?? '';
    const call: UpstreamCall = { script, marker, behaviour, startMs, endMs: null, status: null };
    this.calls.push(call);
    return call;
  }

  #answerLine(api: CallApi, body: InferenceBody): Reply {
    const prompt = promptOf(body);
    const call = this.#log('native', prompt, 'answer');
    call.endMs = Date.now();
    const isRefused = prompt.includes(REFUSED_WORDS);
    call.status = isRefused ? 400 : 200;
    if (isRefused) throw new SandboxError(400, 'No');
    return jsonReply(DIALECTS[api].whole(body.model, prompt));
  }

  async #answerNative(request: IncomingMessage, response: ServerResponse, path: string, body: Buffer): Promise<void> {
    const [bare = '', query = ''] = path.split('?');
    const match = this.#native.find(request.method ?? '', bare);
    if (match === null) return sendJson(response, 404, complaint('No such path'));
    const call: Call = { headers: request.headers, query: new URLSearchParams(query), id: match.id, body };
    let reply: Reply;
    try {
      reply = await match.route.handle(call);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      reply = errorReply('openai', error);
    }
    if (reply.kind === 'stream') throw new Error('a batch API does not stream');
    response.writeHead(reply.status, { 'content-type': reply.contentType }).end(reply.body);
  }
}

function nativeRoutes(files: Files, batches: OpenaiBatches): Route[] {
  const route = (method: string, path: string, handle: Handle): Route => ({
    method,
    path,
    limitBytes: 128 * MIB,
    handle,
  });
  return [
    route('POST', '/v1/files', (call) => files.create(call)),
    route('GET', '/v1/files', () => files.list()),
    route('GET', '/v1/files/{id}', (call) => files.show(call)),
    route('GET', '/v1/files/{id}/content', (call) => files.content(call)),
    route('DELETE', '/v1/files/{id}', (call) => files.remove(call)),
    route('POST', '/v1/batches', (call) => batches.create(call)),
    route('GET', '/v1/batches', (call) => batches.list(call)),
    route('GET', '/v1/batches/{id}', (call) => batches.show(call)),
    route('POST', '/v1/batches/{id}/cancel', (call) => batches.cancel(call)),
  ];
}

function complaint(message: string, type = 'server_error'): string {
  return JSON.stringify({ error: { message, type, param: null, code: null } });
}

function sendJson(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

function misbehave(mood: Exclude<Mood, 'well' | 'slow'>, response: ServerResponse, half: () => string): void {
  switch (mood) {
    case 'unavailable':
      return sendJson(response, 503, complaint('Out of order'));
    case 'rate-limited':
      return sendJson(response, 429, complaint('Slow down', 'rate_limit_error'), { 'retry-after': '1' });
    case 'malformed':
      return sendJson(response, 200, half());
    case 'resets':
      response.socket?.resetAndDestroy();
  }
}

async function stream(response: ServerResponse, events: readonly string[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    if (response.destroyed) return;
    response.write(event);
    await delay(CHUNK_PAUSE_MS);
  }
  response.end();
}
