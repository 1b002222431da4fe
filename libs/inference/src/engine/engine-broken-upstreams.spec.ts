import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { AppError } from '@libs/errors';
import { InferenceEngine } from './engine';
import { callStatus } from '../apis/call-status';
import { isUpstreamFault } from '../wire/upstream-fault';
import { failedRouteOf } from '../routing/failed-route';
import { ProviderHealth } from '../routing/provider-health';
import { aModel, anEndpoint, anEngine, aProvider, aTranscription } from '../testing';

const APIS = ['chat', 'responses', 'messages', 'embeddings', 'transcription'] as const;
type Api = (typeof APIS)[number];
type Mode = 'whole' | 'stream';

const CALLS = APIS.flatMap((api) =>
  (api === 'embeddings' || api === 'transcription' ? (['whole'] as const) : (['whole', 'stream'] as const)).map(
    (mode) => [api, mode] as const,
  ),
);

const ANSWERS: Readonly<Record<Api, object>> = {
  chat: {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  embeddings: { data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 1, total_tokens: 1 } },
  transcription: { text: 'Hi' },
};

/** Far above what a good answer takes, far below what a test may take. */
const IDLE_MS = 1_000;
/** Of one that never falls silent and never ends. */
const TOTAL_MS = 2_000;

type Act = (socket: Socket, api: Api, mode: Mode) => void;

const typeOf = (mode: Mode): string => (mode === 'stream' ? 'text/event-stream' : 'application/json');
const head = (mode: Mode, ...more: string[]): string =>
  ['HTTP/1.1 200 OK', `content-type: ${typeOf(mode)}`, ...more, '', ''].join('\r\n');
const sized = (mode: Mode, body: string | Buffer, ...more: string[]): Buffer =>
  Buffer.concat([Buffer.from(head(mode, `content-length: ${Buffer.byteLength(body)}`, ...more)), Buffer.from(body)]);
/** The first bytes of an answer, too few to classify it. */
const START = '{"id":"up-1",';
const reset = (socket: Socket): void => void socket.resetAndDestroy();

/** What an upstream does after it has read a whole request, and the error code that the caller gets. */
const FAULTS: Readonly<Record<string, readonly [Act, 'provider_unavailable' | 'timeout']>> = {
  'resets before the head': [reset, 'provider_unavailable'],
  'closes before the head': [(socket) => void socket.end(), 'provider_unavailable'],
  'resets in the head': [
    (socket) => void socket.write('HTTP/1.1 200 OK\r\ncont', () => reset(socket)),
    'provider_unavailable',
  ],
  'answers no HTTP': [(socket) => void socket.end('SSH-2.0-OpenSSH_9.7\r\n'), 'provider_unavailable'],
  'resets after the head': [
    (socket, _api, mode) => void socket.write(head(mode, 'content-length: 1000'), () => reset(socket)),
    'provider_unavailable',
  ],
  'resets in the body': [
    (socket, _api, mode) => void socket.write(head(mode, 'content-length: 1000') + START, () => reset(socket)),
    'provider_unavailable',
  ],
  'ends before its content-length': [
    (socket, _api, mode) => void socket.end(head(mode, 'content-length: 1000') + START),
    'provider_unavailable',
  ],
  'ends within a chunk': [
    (socket, _api, mode) => void socket.end(`${head(mode, 'transfer-encoding: chunked')}ff\r\n${START}`),
    'provider_unavailable',
  ],
  'ends without the last chunk': [
    (socket, _api, mode) => void socket.end(`${head(mode, 'transfer-encoding: chunked')}d\r\n${START}\r\n`),
    'provider_unavailable',
  ],
  'sends a chunk of no size': [
    (socket, _api, mode) => void socket.end(`${head(mode, 'transfer-encoding: chunked')}zz\r\n${START}\r\n`),
    'provider_unavailable',
  ],
  'sends nothing': [() => undefined, 'timeout'],
  'falls silent after the head': [
    (socket, _api, mode) => void socket.write(head(mode, 'content-length: 1000')),
    'timeout',
  ],
  'falls silent in the body': [
    (socket, _api, mode) => void socket.write(head(mode, 'content-length: 1000') + START),
    'timeout',
  ],
  'sends a byte now and then': [(socket, _api, mode) => void drip(socket, mode), 'timeout'],
  'answers an error with status 200': [
    (socket, _api, mode) => {
      const error = JSON.stringify({ error: { message: 'The model crashed', code: 'server_error' } });
      socket.write(sized(mode, mode === 'stream' ? `data: ${error}\n\n` : error));
    },
    'provider_unavailable',
  ],
  'answers with an empty body': [(socket, _api, mode) => void socket.write(sized(mode, '')), 'provider_unavailable'],
  'answers with a page': [
    (socket) =>
      void socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 20\r\n\r\n<html>hello</html>\r\n',
      ),
    'provider_unavailable',
  ],
  'compresses its answer unasked': [
    (socket, api, mode) =>
      void socket.write(sized(mode, gzipSync(JSON.stringify(ANSWERS[api])), 'content-encoding: gzip')),
    'provider_unavailable',
  ],
  'packs its answer badly': [
    (socket, _api, mode) => void socket.write(sized(mode, Buffer.alloc(64, 0x1f), 'content-encoding: gzip')),
    'provider_unavailable',
  ],
};

async function drip(socket: Socket, mode: Mode): Promise<void> {
  socket.write(head(mode, 'content-length: 1000'));
  while (!socket.destroyed) {
    socket.write(' ');
    await delay(20);
  }
}

/** An upstream of raw bytes, which reads one request per connection. */
class RawUpstream {
  readonly sockets = new Set<Socket>();
  act: (socket: Socket) => void = reset;

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined).once('close', () => this.sockets.delete(socket));
      let text = '';
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1');
        if (!isWholeRequest(text)) return;
        text = '';
        this.act(socket);
      });
    });
  }

  static async start(): Promise<RawUpstream> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RawUpstream(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}

function isWholeRequest(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return end !== -1 && text.length >= end + 4 + Number(length ?? 0);
}

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown): void => void unhandled.push(reason);

beforeAll(() => void process.on('unhandledRejection', onUnhandled));

afterAll(() => void process.off('unhandledRejection', onUnhandled));

function bench(api: Api, origin: string) {
  const health = new ProviderHealth(Date.now);
  const provider = aProvider({
    baseUrl: `${origin}/v1`,
    apiKeyEnv: null,
    protocol: api === 'messages' ? 'anthropic' : 'openai',
    // So that a connection that is not given back is missed at once.
    maxConcurrency: 1,
  });
  const endpoint = anEndpoint({ provider, apis: [api] });
  const timeouts = { headersMs: IDLE_MS, idleMs: IDLE_MS, totalMs: TOTAL_MS };
  return { ...anEngine([aModel({ endpoints: [endpoint] })], { health, timeouts }), health, endpoint };
}

const BODIES: Readonly<Record<Exclude<Api, 'transcription'>, object>> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  messages: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 },
  embeddings: { input: 'Hi' },
};

async function call(engine: InferenceEngine, api: Api, mode: Mode): Promise<unknown> {
  const base = { generationId: 'gen-1-abc', model: 'acme/large', signal: new AbortController().signal };
  if (api === 'transcription') {
    return engine.transcribe({ ...base, body: Buffer.alloc(0), transcription: aTranscription() });
  }
  const body = Buffer.from(JSON.stringify({ model: 'acme/large', ...BODIES[api] }));
  if (mode === 'whole' || api === 'embeddings') return engine.answer(api, { ...base, body });
  return engine.stream(api, { ...base, body });
}

/** Returns a summary of the error that a caller gets instead of an answer. */
async function failureOf(engine: InferenceEngine, api: Api, mode: Mode): Promise<object> {
  const thrown: unknown = await call(engine, api, mode).then(
    () => new Error('the call succeeded'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof AppError)) throw thrown;
  const attempts = (failedRouteOf(thrown)?.attempts ?? []).map(({ status, errorCode }) => [status, errorCode]);
  const { code } = thrown;
  return { api, mode, code, status: callStatus(api, thrown), isUpstreams: isUpstreamFault(thrown), attempts };
}

function failure(api: Api, mode: Mode, code: 'provider_unavailable' | 'timeout'): object {
  const status = code === 'provider_unavailable' ? 502 : api === 'embeddings' ? 524 : 504;
  return { api, mode, code, status, isUpstreams: true, attempts: [[status, code]] };
}

const ofEach = (run: (api: Api, mode: Mode) => Promise<void>): Promise<void[]> =>
  Promise.all(CALLS.map(([api, mode]) => run(api, mode)));

describe('a provider that breaks off', () => {
  it.each(Object.entries(FAULTS))(
    'ends a call of every API with one code, and serves the next where it %s',
    async (_name, [act, code]) => {
      await ofEach(async (api, mode) => {
        const upstream = await RawUpstream.start();
        const { engine, http, health, endpoint } = bench(api, `http://127.0.0.1:${upstream.port}`);
        upstream.act = (socket) => act(socket, api, mode);
        expect(await failureOf(engine, api, mode)).toEqual(failure(api, mode, code));
        expect(health.hadOutage(endpoint)).toBe(true);
        upstream.act = (socket) => void socket.write(sized('whole', JSON.stringify(ANSWERS[api])));
        expect(await call(engine, api, 'whole')).toMatchObject({ status: 200 });
        await http.close();
        // The upstream closes nothing itself, so a socket that stays open here is one that we leaked.
        while (upstream.sockets.size > 0) await once([...upstream.sockets][0]!, 'close');
        await upstream.close();
      });
      expect(unhandled).toEqual([]);
    },
  );

  it('ends a call of every API with one code where nobody listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    await ofEach(async (api, mode) => {
      const { engine, http } = bench(api, `http://127.0.0.1:${port}`);
      expect(await failureOf(engine, api, mode)).toEqual(failure(api, mode, 'provider_unavailable'));
      await http.close();
    });
  });

  it('ends a call of every API with one code where plain text answers TLS', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await ofEach(async (api, mode) => {
      const { engine, http } = bench(api, `https://127.0.0.1:${(server.address() as AddressInfo).port}`);
      expect(await failureOf(engine, api, mode)).toEqual(failure(api, mode, 'provider_unavailable'));
      await http.close();
    });
    server.close();
    await once(server, 'close');
  });
});
