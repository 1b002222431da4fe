import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { NativeBatchCaller, type NativeLane } from '../../engine/native-batch-caller';
import type { CallableApi } from '../../dialects/dialect-pairs';
import { parseUsd } from '../../pricing/money';
import type { Api, Endpoint } from '../../catalogue/catalogue';
import { SharedCredentials } from '../../routing/credential-source';
import { aModel, anEndpoint, aProvider, FakeUpstream, FIXTURE_KEY } from '../../testing';
import { createProviderAdapters } from '..';
import type { NativeBatchAccess, NativeJob, NativeLine } from '../native-batch';
import { UpstreamHttp } from '../../wire/upstream-http';

interface Exchange {
  readonly call: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `__fixtures__/<protocol>/batch.json`: four lines, one of them answered. */
interface RecordedBatches {
  readonly caller: CallableApi;
  readonly apis: readonly Api[];
  /** The file in the same folder with the answer that replaces `$ANSWER`. */
  readonly answer: string;
  readonly line: unknown;
  readonly upload?: Exchange & { readonly then?: Exchange; readonly sends: readonly string[]; readonly id: string };
  readonly create: Exchange & { readonly sends: object };
  readonly id: string;
  readonly poll: string;
  readonly running: readonly object[];
  readonly ended: readonly object[];
  readonly failed?: { readonly body: object; readonly failure: string };
  readonly list: Exchange & { readonly empty: object };
  /** Lines of the answer to each call, one of them cut off. */
  readonly outputs: Readonly<Record<string, readonly string[]>>;
  readonly cancel: string;
  readonly removes: readonly string[];
}

const REFERENCE = 'nbfixture';
const SUBMITTED_MS = Date.parse('2026-11-21T09:00:00Z');
const REQUESTS: Readonly<Partial<Record<CallableApi, object>>> = {
  chat: { model: 'acme/large', stream: false, messages: [{ role: 'user', content: 'Say hello' }] },
  messages: { model: 'acme/large', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello' }] },
};

/** What every batch API must do, replayed from what its provider documents. */
export function describeBatchConformance(protocol: string): void {
  const folder = join(__dirname, '..', '__fixtures__', protocol);
  const recorded = JSON.parse(readFileSync(join(folder, 'batch.json')).toString()) as RecordedBatches;
  const answer = JSON.stringify(JSON.parse(readFileSync(join(folder, recorded.answer)).toString()));
  const request = Buffer.from(JSON.stringify(REQUESTS[recorded.caller], null, 1));
  let upstream: FakeUpstream;
  let http: UpstreamHttp;
  let lane: NativeLane;
  let endpoint: Endpoint;
  let access: NativeBatchAccess;

  /** From now on these calls are answered so, and every other with a 404. */
  const knows = (...exchanges: readonly Exchange[]): void => {
    upstream.behaviour = (response, { method, path }) => {
      const known = exchanges.find(({ call }) => call === `${method} ${path}`);
      const headers = Object.entries(known?.headers ?? {}).map(([name, value]) => [
        name,
        value.replace('$ORIGIN', upstream.origin),
      ]);
      for (const [name, value] of headers) response.setHeader(name!, value!);
      response.writeHead(known === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(typeof known?.body === 'string' ? known.body : JSON.stringify(known?.body ?? {}));
    };
  };
  const calls = (): string[] => upstream.requests.map(({ method, path }) => `${method} ${path}`);
  const expectKeyInOneHeader = (): void => {
    for (const { headers, path, body } of upstream.requests) {
      expect(Object.values(headers).filter((value) => String(value).includes(FIXTURE_KEY))).toHaveLength(1);
      expect(path + body).not.toContain(FIXTURE_KEY);
    }
  };
  const polled = async (body: object): Promise<NativeJob | null> => {
    knows({ call: recorded.poll, body });
    return lane.batches.poll(recorded.id, access);
  };
  const outputs = (): Exchange[] =>
    Object.entries(recorded.outputs).map(([call, lines]) => ({
      call,
      body: lines.map((line) => `${line.replace('$ANSWER', answer)}\n`).join(''),
    }));
  const downloaded = async (): Promise<Map<string, NativeLine>> => {
    const job = await polled(recorded.ended[0]!);
    knows(...outputs());
    const lines = new Map<string, NativeLine>();
    for await (const line of lane.batches.download(job!, access)) lines.set(line.customId, line);
    return lines;
  };

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp();
    const provider = aProvider({ protocol, baseUrl: upstream.baseUrl, batch: 'native' });
    endpoint = anEndpoint({ provider, apis: recorded.apis });
    const parts = {
      adapters: createProviderAdapters(http),
      credentials: new SharedCredentials({ ACME_API_KEY: FIXTURE_KEY }),
      clock: Date.now,
    };
    const caller = new NativeBatchCaller(parts);
    expect(caller.isPreferred(recorded.caller, endpoint)).toBe(true);
    lane = caller.laneOf(recorded.caller, endpoint)!;
    const { signal } = new AbortController();
    access = await caller.accessTo({ model: aModel(), endpoint, credential: null }, {}, signal);
    expect(access.apiKey).toBeInstanceOf(Secret);
  });

  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  describe(`the batches of ${protocol}`, () => {
    it('writes a request as one line under our id, whatever its spelling', () => {
      const line = lane.write(`${REFERENCE}-0`, request).toString();
      expect(line).not.toMatch(/[\r\n]/);
      expect(JSON.parse(line)).toEqual(recorded.line);
    });

    const { upload, create } = recorded;
    const uploads: readonly Exchange[] = upload === undefined ? [] : [upload, upload.then ?? upload];
    const uploader = upload === undefined ? null : it;

    uploader?.('uploads the lines under the name of our reference', async () => {
      knows(...uploads);
      const lines = [lane.write(`${REFERENCE}-0`, request)];
      expect(await lane.batches.upload!({ reference: REFERENCE, lines }, access)).toBe(upload!.id);
      const sent = upstream.requests.map(({ body }) => body).join('');
      for (const text of [...upload!.sends, lines[0]!.toString()]) expect(sent).toContain(text);
      expectKeyInOneHeader();
    });

    it('makes one job of them, with our reference where it keeps one', async () => {
      knows(create);
      const line = lane.write(`${REFERENCE}-0`, request);
      const [inputFileId, lines] = upload === undefined ? [null, [line]] : [upload.id, []];
      const order = { reference: REFERENCE, api: lane.upstreamApi, inputFileId, lines };
      expect(await lane.batches.create(order, access)).toMatchObject({ id: recorded.id, state: 'running' });
      const expected = JSON.stringify(create.sends).replace('"$LINE"', line.toString());
      expect(JSON.parse(upstream.requests[0]!.body)).toEqual(JSON.parse(expected));
      expect(upstream.requests).toHaveLength(1);
      expectKeyInOneHeader();
    });

    it('tells a job that runs from one that has ended, and from one that is unknown', async () => {
      for (const body of recorded.running) expect(await polled(body)).toMatchObject({ state: 'running' });
      for (const body of recorded.ended) expect(await polled(body)).toMatchObject({ state: 'ended', failure: null });
      knows();
      expect(await lane.batches.poll(recorded.id, access)).toBeNull();
      const { failed } = recorded;
      if (failed) expect(await polled(failed.body)).toMatchObject({ state: 'ended', failure: failed.failure });
    });

    it('says of each line what became of it, in any order, and leaves out what cannot be read', async () => {
      const lines = await downloaded();
      expect([...lines.keys()].sort()).toEqual([0, 1, 2, 3].map((seq) => `${REFERENCE}-${seq}`));
      expect(lines.get(`${REFERENCE}-0`)).toMatchObject({ kind: 'answer' });
      expect(lines.get(`${REFERENCE}-1`)).toMatchObject({
        kind: 'failed',
        error: { code: 'invalid_request', message: 'messages must not be empty', retryable: false },
      });
      expect(lines.get(`${REFERENCE}-2`)).toMatchObject({
        kind: 'failed',
        error: { code: 'rate_limit_exceeded', retryable: true },
      });
      expect(lines.get(`${REFERENCE}-3`)).toEqual({ customId: `${REFERENCE}-3`, kind: 'not-run' });
    });

    it('answers callers in their own dialect, with the usage at batch prices', async () => {
      const line = (await downloaded()).get(`${REFERENCE}-0`) as Extract<NativeLine, { kind: 'answer' }>;
      const candidate = { model: aModel(), endpoint, credential: null };
      const generationId = 'gen-batch-1763715600-abcdefghijklmnopqrst';
      const read = await lane.read({ body: line.body }, { candidate, generationId, requestBody: request });
      expect(JSON.parse(read.body.toString())).toMatchObject({ id: generationId, model: 'acme/large' });
      expect(read.usage).toMatchObject({ promptTokens: 19, completionTokens: 10, provenance: 'upstream' });
      expect(read.cost.totalCost).toBe(parseUsd('0.0000195'));
    });

    it('finds an order that may have been accepted, and nothing if it was not', async () => {
      const lost = { reference: REFERENCE, total: 4, sinceMs: SUBMITTED_MS };
      knows(recorded.list);
      expect((await lane.batches.find(lost, access)).map(({ id }) => id)).toEqual([recorded.id]);
      knows({ call: recorded.list.call, body: recorded.list.empty });
      expect(await lane.batches.find(lost, access)).toEqual([]);
    });

    it('calls off what runs, and leaves what has ended alone', async () => {
      knows({ call: recorded.poll, body: recorded.running[0] }, { call: recorded.cancel, body: recorded.running[0] });
      await lane.batches.cancel(recorded.id, access);
      expect(calls()).toEqual([recorded.poll, recorded.cancel]);
      knows({ call: recorded.poll, body: recorded.ended[0] });
      await lane.batches.cancel(recorded.id, access);
      expect(calls()).toEqual([recorded.poll, recorded.cancel, recorded.poll]);
    });

    it.each([400, 409])(
      'takes a job that is told with a %d to be beyond calling off for one that ends',
      async (status) => {
        upstream.behaviour = (response, { method, path }) => {
          const isPoll = `${method} ${path}` === recorded.poll;
          response.writeHead(isPoll ? 200 : status, { 'content-type': 'application/json' });
          response.end(JSON.stringify(isPoll ? recorded.running[0] : { error: { message: 'Cannot cancel a batch' } }));
        };
        await expect(lane.batches.cancel(recorded.id, access)).resolves.toBeUndefined();
        expect(calls()).toEqual([recorded.poll, recorded.cancel]);
      },
    );

    it('says so where the provider did not hear that a job is called off', async () => {
      upstream.behaviour = (response, { method, path }) => {
        const isPoll = `${method} ${path}` === recorded.poll;
        response.writeHead(isPoll ? 200 : 500, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isPoll ? recorded.running[0] : {}));
      };
      await expect(lane.batches.cancel(recorded.id, access)).rejects.toMatchObject({ code: 'provider_unavailable' });
    });

    it('removes what the provider keeps, also where some of it is gone already', async () => {
      const job = await polled(recorded.ended[0]!);
      const kept = { id: recorded.id, inputFileId: recorded.upload?.id ?? null, outputs: job!.outputs };
      const before = calls().length;
      knows(...recorded.removes.slice(1).map((call) => ({ call, body: {} })));
      expect(await lane.batches.remove(kept, access)).toBe('deleted');
      expect(calls().slice(before)).toEqual(recorded.removes);
    });

    it.each([
      [401, {}, 'provider_unavailable'],
      [429, { 'retry-after': '7' }, 'rate_limit_exceeded'],
      [500, {}, 'provider_unavailable'],
    ])('maps a %d like that of a single call, without the key', async (status, headers, code) => {
      upstream.answers(status, JSON.stringify({ error: { message: `wrong key ${FIXTURE_KEY}` } }), headers);
      const error = await lane.batches.poll(recorded.id, access).then(String, (thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(AppError);
      expect(error).toMatchObject({ code });
      if (status === 429) expect((error as AppError).retryAfterSeconds).toBe(7);
      const { message, internal, stack, metadata } = error as AppError;
      expect([message, internal, stack, JSON.stringify(metadata)].join()).not.toContain(FIXTURE_KEY);
    });

    it('keeps the lines that came before outputs broke off, and says that they did', async () => {
      const job = await polled(recorded.ended[0]!);
      const first = `${outputs()[0]!.body as string}`.split('\n')[0]!;
      upstream.behaviour = (response) => {
        response.writeHead(200, { 'content-length': '100000' });
        response.write(`${first}\n{"custom_id":`, () => setTimeout(() => response.socket?.destroy(), 20));
      };
      const seen: string[] = [];
      const reading = (async () => {
        for await (const line of lane.batches.download(job!, access)) seen.push(line.customId);
      })();
      await expect(reading).rejects.toMatchObject({ code: 'provider_unavailable' });
      expect(seen).toHaveLength(1);
    });

    it('reads no further ahead than it is listened to', async () => {
      const job = await polled(recorded.ended[0]!);
      const line = `${(outputs()[0]!.body as string).split('\n')[0]!}\n`;
      let written = 0;
      upstream.behaviour = (response) => {
        response.writeHead(200);
        const write = (): void => {
          written += 1;
          response.write(line.repeat(200), (error) => !error && setImmediate(write));
        };
        write();
      };
      for await (const _line of lane.batches.download(job!, access)) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        break;
      }
      const bytes = written * 200 * line.length;
      expect(bytes).toBeLessThan(16 * 1024 * 1024);
    });
  });
}
