import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { anEndpoint, aProvider, FakeUpstream, FIXTURE_KEY } from '../../testing';
import { createProviderAdapters } from '..';
import { UpstreamHttp } from '../../wire/upstream-http';
import type { VideoAccess, VideoApi, VideoOutput, VideoRequest } from '../../videos/video-provider';

interface Recorded {
  /** By path and query; `$status` is set for a status other than 200. */
  readonly routes: Readonly<Record<string, object & { readonly $status?: number }>>;
  readonly state?: string;
  readonly message?: string;
  readonly outputs?: readonly object[];
  readonly completionTokens?: number;
}

interface Refusal {
  readonly status: number;
  readonly body: object;
  readonly code: string;
}

interface Fixture {
  readonly upstreamModel: string;
  readonly start: {
    readonly path: string;
    readonly header?: Readonly<Record<string, string>>;
    readonly sent: object;
    readonly answer: object;
  };
  readonly operation: Record<string, unknown>;
  /** How a job is asked after, where that is no GET. */
  readonly asks?: { readonly method: string; readonly body: object };
  /** Lists of jobs, by path and query, where the provider's list has their references. */
  readonly listed?: Recorded['routes'];
  readonly done: Recorded;
  readonly failed: Recorded;
  readonly strange: Recorded;
  readonly contentRefusal: Refusal;
  readonly tooMany: Refusal;
  readonly [name: string]: unknown;
}

const REFERENCE = 'gen-vid-1763715600-abcdefghijklmnopqrst';
const REQUEST: VideoRequest = {
  prompt: 'A heron lands.',
  durationSeconds: 4,
  resolution: '720p',
  aspectRatio: '16:9',
  width: 1_280,
  height: 720,
  generateAudio: false,
  firstFrame: { kind: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
  lastFrame: null,
  references: [],
  seed: 7,
  creativity: null,
  upscaleFactor: null,
  options: {},
  continues: null,
};
const TIMEOUTS = { headersMs: 2_000, idleMs: 2_000, totalMs: 4_000 };
const STATES = ['pending', 'running', 'failed', 'filtered', 'cancelled', 'expired'];

/** What every video API must do, replayed from `__fixtures__/<protocol>/videos.json`. */
describe.each(['openai', 'google', 'google-vertex', 'replicate', 'fal', 'runway', 'minimax', 'byteplus'])(
  'videos by the protocol %s',
  (protocol) => {
    const text = readFileSync(join(__dirname, '..', '__fixtures__', protocol, 'videos.json'), 'utf8');
    let upstream: FakeUpstream;
    let http: UpstreamHttp;
    let fixture: Fixture;
    let api: VideoApi;
    let access: VideoAccess;

    beforeEach(async () => {
      upstream = await FakeUpstream.start();
      fixture = JSON.parse(text.replaceAll('ORIGIN', upstream.origin)) as Fixture;
      http = new UpstreamHttp();
      api = createProviderAdapters(http).get(protocol)!.video!;
      const provider = aProvider({ protocol, baseUrl: `${upstream.origin}/v1` });
      access = {
        endpoint: anEndpoint({ provider, upstreamModel: fixture.upstreamModel, apis: ['video'] }),
        apiKey: new Secret(FIXTURE_KEY),
        signal: new AbortController().signal,
        timeouts: TIMEOUTS,
      };
    });

    afterEach(async () => {
      await upstream.close();
      await http.close();
    });

    const plays = ({ routes }: Recorded): void => {
      upstream.behaviour = (response, { path, method }) => {
        const { $status = 200, ...body } = routes[path] ?? { $status: 404, error: { message: `${method} ${path}` } };
        response.writeHead($status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
    };
    const answers = (status: number, body: unknown, headers: Record<string, string> = {}): void => {
      upstream.behaviour = (response) =>
        response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(typeof body === 'string' ? body : JSON.stringify(body));
    };
    const start = () => api.start(REQUEST, access, REFERENCE);
    const status = () => api.status(fixture.operation, access);
    const thrown = async (run: Promise<unknown>): Promise<AppError> => {
      const error: unknown = await run.then(
        () => 'an answer',
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(AppError);
      return error as AppError;
    };

    it('starts a job and remembers how to find it again', async () => {
      answers(200, fixture.start.answer);
      expect(await start()).toEqual({ kind: 'accepted', operation: fixture.operation });
      const [sent] = upstream.requests;
      expect(sent).toMatchObject({ method: 'POST', path: fixture.start.path });
      expect(JSON.parse(sent!.body)).toEqual(fixture.start.sent);
      expect(sent!.headers).toMatchObject(fixture.start.header ?? {});
    });

    it('sends the key in a header and nowhere else, and keeps none of it', async () => {
      answers(200, fixture.start.answer);
      const started = await start();
      const [sent] = upstream.requests;
      expect(Object.values(sent!.headers).filter((value) => String(value).includes(FIXTURE_KEY))).toHaveLength(1);
      expect(sent!.path + sent!.body).not.toContain(FIXTURE_KEY);
      plays(fixture.done);
      expect(JSON.stringify([started, await status()])).not.toContain(FIXTURE_KEY);
    });

    it('says how far a job is', async () => {
      for (const name of STATES) {
        const recorded = fixture[name] as Recorded | undefined;
        if (recorded === undefined) continue;
        plays(recorded);
        const seen = (await status()) as { state: string; message?: string };
        expect(seen.state).toBe(recorded.state);
        if (recorded.message !== '*') expect(seen.message).toBe(recorded.message);
        expect(JSON.stringify(seen)).not.toContain(FIXTURE_KEY);
      }
    });

    it('finds what is finished', async () => {
      plays(fixture.done);
      const { outputs, completionTokens } = fixture.done;
      expect(await status()).toEqual({
        state: 'completed',
        outputs,
        ...(completionTokens !== undefined && { completionTokens }),
      });
      const asks = {
        method: fixture.asks?.method ?? 'GET',
        body: fixture.asks ? JSON.stringify(fixture.asks.body) : '',
      };
      expect(upstream.requests.every(({ method, body }) => method === asks.method && body === asks.body)).toBe(true);
    });

    it('does not take another job for the one it asks after', async () => {
      plays(fixture.strange);
      expect(await thrown(status())).toMatchObject({ code: 'provider_unavailable' });
    });

    it('knows a refusal of the content from one that means later', async () => {
      const { contentRefusal, tooMany } = fixture;
      answers(contentRefusal.status, contentRefusal.body);
      expect(await start()).toMatchObject({
        kind: 'refused',
        error: { code: contentRefusal.code, retryable: false },
      });
      answers(tooMany.status, tooMany.body);
      expect(await start()).toMatchObject({ kind: 'refused', error: { code: tooMany.code, retryable: true } });
    });

    it.each([401, 402, 403, 404])('is refused by a %s, and says nothing of the key', async (code) => {
      answers(code, { error: { message: `bad key ${FIXTURE_KEY}` }, detail: FIXTURE_KEY });
      const { kind, error } = (await start()) as { kind: string; error: AppError };
      expect(kind).toBe('refused');
      expect(`${error.message} ${JSON.stringify(error.toWire())} ${error.internal} ${error.stack}`).not.toContain(
        FIXTURE_KEY,
      );
    });

    it('is refused where nothing listens: nothing was sent', async () => {
      await upstream.close();
      expect(await start()).toMatchObject({ kind: 'refused', error: { code: 'provider_unavailable' } });
      upstream = await FakeUpstream.start();
    });

    it.each([
      ['an answer of 500', (): void => answers(500, { error: { message: 'boom' } })],
      ['an answer of 502', (): void => answers(502, '<html>')],
      ['an answer of 504', (): void => answers(504, '{}')],
      ['an answer that is no JSON', (): void => answers(200, '<html>')],
      ['an answer without an id', (): void => answers(200, {})],
      [
        'a connection that ends',
        (): void => {
          upstream.behaviour = (response) => response.socket?.destroy();
        },
      ],
    ])('does not know what became of a submission after %s', async (_case, misbehave) => {
      misbehave();
      await thrown(start());
    });

    it.each([
      ['a 500', 500, '{}'],
      ['no JSON', 200, '<html>'],
      ['an unknown state', 200, '{"status":"dreaming","done":true}'],
    ])('says that a job cannot be asked after: %s', async (_case, code, body) => {
      answers(code, body);
      const outcome = await status().catch((error: unknown) => error);
      // Google reports no state but done, and a job that is done and empty has failed.
      if (protocol.startsWith('google') && code === 200 && body.startsWith('{')) {
        expect(outcome).toMatchObject({ state: 'failed' });
      } else {
        expect(outcome).toBeInstanceOf(AppError);
      }
    });

    it('finds a job by the reference it was submitted with, or says that it cannot', async () => {
      const { listed } = fixture;
      if (listed === undefined) {
        expect(api).not.toHaveProperty('find');
        return;
      }
      plays({ routes: listed });
      expect(await api.find!(REFERENCE, access)).toEqual(fixture.operation);
      expect(await api.find!('gen-vid-1763715600-zzzzzzzzzzzzzzzzzzzz', access)).toBeNull();
      for (const [status, body] of [
        [500, '{}'],
        [200, '{}'],
        [200, '<html>'],
      ] as const) {
        answers(status, body);
        await thrown(api.find!(REFERENCE, access));
      }
    });

    it('opens an output with the key at the provider, and hands out links without it', async () => {
      const output = fixture.done.outputs![0] as VideoOutput;
      if ('url' in output) {
        expect(await api.open(output, access)).toEqual({ kind: 'link', url: output.url });
        return;
      }
      if ('answer' in output) {
        plays(fixture.done);
        const taken = await api.open(output, access);
        expect(taken.kind === 'stream' && (await taken.stream.read())?.toString()).toBe('clip');
        answers(404, { error: { message: 'gone' } });
        await thrown(api.open(output, access));
        return;
      }
      upstream.behaviour = (response) => response.writeHead(200, { 'content-type': 'video/mp4' }).end('clip');
      const opened = await api.open(output, access);
      expect(opened.kind === 'stream' && (await opened.stream.read())?.toString()).toBe('clip');
      expect(upstream.requests[0]!.path).toBe(`/v1${output.path}`);
      upstream.behaviour = (response) => response.writeHead(302, { location: 'https://cdn.example.com/out.mp4' }).end();
      expect(await api.open(output, access)).toEqual({ kind: 'link', url: 'https://cdn.example.com/out.mp4' });
      answers(404, { error: { message: 'gone' } });
      await thrown(api.open(output, access));
    });
  },
);

describe('the list of tasks at BytePlus', () => {
  const PAGE = 500;
  let upstream: FakeUpstream;
  let http: UpstreamHttp;
  let find: (reference: string) => Promise<unknown>;
  let tasks: { id: string; safety_identifier: string }[];

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp();
    const api = createProviderAdapters(http).get('byteplus')!.video!;
    const provider = aProvider({ protocol: 'byteplus', baseUrl: `${upstream.origin}/v1` });
    const endpoint = anEndpoint({ provider, apis: ['video'] });
    const signal = new AbortController().signal;
    find = (reference) =>
      api.find!(reference, { endpoint, apiKey: new Secret(FIXTURE_KEY), signal, timeouts: TIMEOUTS });
    upstream.behaviour = (response, { path }) => {
      const page = Number(new URL(path, upstream.origin).searchParams.get('page_num'));
      const items = tasks.slice((page - 1) * PAGE, page * PAGE);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items }));
    };
  });

  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  const manyTasks = (count: number): typeof tasks =>
    Array.from({ length: count }, (_, index) => ({ id: `cgt-${index}`, safety_identifier: `reference-${index}` }));

  it('is looked through to its end', async () => {
    tasks = manyTasks(2 * PAGE);
    expect(await find('reference-999')).toEqual({ id: 'cgt-999' });
    expect(await find('another')).toBeNull();
    expect(upstream.requests.map(({ path }) => /page_num=(\d+)/.exec(path)![1])).toEqual(['1', '2', '1', '2', '3']);
  });

  it('says nothing where it is longer than can be looked through', async () => {
    tasks = manyTasks(20 * PAGE + 1);
    await expect(find(`reference-${20 * PAGE}`)).rejects.toMatchObject({ code: 'provider_unavailable' });
  });
});
