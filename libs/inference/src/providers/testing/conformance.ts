import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '@libs/errors';
import type { RoutedRequest } from '../../engine/inference-call';
import type { StreamableApi, UpstreamApi } from '../../dialects/dialect-pairs';
import type { Api } from '../../catalogue/catalogue';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream, FIXTURE_KEY, textOf } from '../../testing';

interface RecordedError {
  readonly name: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly expected: {
    readonly code: string;
    readonly message: string;
    readonly hint: string | null;
    readonly retryAfterSeconds?: number;
  };
}

/** What the error of a request says about the model if its only provider answers so. */
const AVAILABILITY: Readonly<Record<string, object>> = {
  not_found: { code: 'model_unavailable_upstream', retryable: false },
  rate_limit_exceeded: { code: 'capacity_exhausted', retryable: true },
};

const PROMPT = { model: 'acme/large', messages: [{ role: 'user', content: 'Say hello' }] };

/** How an API shows what the suite asks about. */
interface Speech {
  /** The API of the caller. */
  readonly caller: StreamableApi;
  readonly apis: readonly Api[];
  readonly body: object;
  /** Matches the field of a stream that says why the model stopped. */
  readonly stop: RegExp;
  readonly lastEvent: string;
  /** A 200 in which nothing is said. */
  readonly silence: string;
}

const SPEECHES = {
  chat: {
    caller: 'chat',
    apis: ['chat', 'embeddings'],
    body: PROMPT,
    stop: /"finish_reason":"/g,
    lastEvent: 'data: [DONE]\n\n',
    silence: '{"id":"x","choices":[]}',
  },
  responses: {
    caller: 'responses',
    apis: ['responses'],
    body: { model: 'acme/large', input: 'Say hello' },
    stop: /"type":"response\.(?:completed|incomplete|failed)"/g,
    lastEvent: 'data: [DONE]\n\n',
    silence: '{"id":"x","object":"response"}',
  },
  messages: {
    caller: 'messages',
    apis: ['messages'],
    body: { ...PROMPT, max_tokens: 100 },
    stop: /"stop_reason":"/g,
    lastEvent: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    silence: '{"id":"x","type":"message"}',
  },
  /** A dialect of the protocol's own, asked for a caller of `/chat/completions`. */
  conversation: {
    caller: 'chat',
    apis: ['chat', 'embeddings'],
    body: PROMPT,
    stop: /"finish_reason":"/g,
    lastEvent: 'data: [DONE]\n\n',
    silence: '{}',
  },
} as const satisfies Partial<Record<UpstreamApi, Speech>>;

/**
 * Tests what every protocol must do, through the engine, with answers replayed from `__fixtures__/<protocol>/`:
 * `<api>.json`, `<api>-stream.txt` (`.bin` where the wire is no text), `errors.json` and, where it embeds,
 * `embeddings.json` (two inputs, eight tokens).
 */
export function describeConformance(protocol: string, api: keyof typeof SPEECHES = 'chat'): void {
  const speech: Speech = SPEECHES[api];
  const folder = join(__dirname, '..', '__fixtures__', protocol);
  const fixture = (name: string): Buffer => readFileSync(join(folder, name));
  let upstream: FakeUpstream;
  let fixtureEngine: ReturnType<typeof anEngine>;
  let controller: AbortController;

  const request = (body: object = speech.body, values: Partial<RoutedRequest> = {}): RoutedRequest => ({
    generationId: 'gen-1763715600-abcdefghijklmnopqrst',
    model: 'acme/large',
    body: Buffer.from(JSON.stringify(body)),
    signal: controller.signal,
    ...values,
  });
  const ask = (values: Partial<RoutedRequest> = {}) =>
    fixtureEngine.engine.answer(speech.caller, request(speech.body, values));
  const stream = () => fixtureEngine.engine.stream(speech.caller, request());
  const answer = fixture(`${api}.json`);
  const events = fixture(`${api}-stream.${existsSync(join(folder, `${api}-stream.bin`)) ? 'bin' : 'txt'}`);
  const refusal = async (run: Promise<unknown>): Promise<AppError> => {
    const thrown: unknown = await run.then(
      () => 'an answer',
      (error: unknown) => error,
    );
    expect(thrown).toBeInstanceOf(AppError);
    return thrown as AppError;
  };

  beforeEach(async () => {
    controller = new AbortController();
    upstream = await FakeUpstream.start();
    const provider = aProvider({ protocol, baseUrl: upstream.baseUrl });
    fixtureEngine = anEngine([aModel({ endpoints: [anEndpoint({ provider, apis: speech.apis })] })]);
  });

  afterEach(async () => {
    await upstream.close();
    await fixtureEngine.http.close();
  });

  describe(`the protocol ${protocol}`, () => {
    it('sends the key as a header and nowhere else', async () => {
      upstream.answers(200, answer);
      await ask();
      const [{ headers, path, body }] = upstream.requests as [(typeof upstream.requests)[0]];
      expect(Object.values(headers).filter((value) => String(value).includes(FIXTURE_KEY))).toHaveLength(1);
      expect(path + body).not.toContain(FIXTURE_KEY);
    });

    it('brings one finish with the usage of the upstream', async () => {
      upstream.answers(200, answer);
      const { finishReason, usage } = await ask();
      expect(finishReason).toBe('stop');
      expect(usage).toMatchObject({ promptTokens: 19, completionTokens: 10, provenance: 'upstream' });
    });

    it('brings one finish with the usage of the upstream, streamed', async () => {
      upstream.streams(events);
      const { stream: body } = await stream();
      const text = await textOf(body);
      expect(text.match(speech.stop)).toHaveLength(1);
      expect(text.endsWith(speech.lastEvent)).toBe(true);
      expect(await body.outcome).toMatchObject({
        state: 'completed',
        usage: { promptTokens: 19, completionTokens: 10, provenance: 'upstream' },
      });
    });

    const canEmbed = speech.apis.some((name) => name === 'embeddings') && existsSync(join(folder, 'embeddings.json'));
    const embeds = canEmbed ? it : null;
    embeds?.('embeds every input once, in order', async () => {
      upstream.answers(200, fixture('embeddings.json'));
      const { body, usage } = await fixtureEngine.engine.answer(
        'embeddings',
        request({ model: 'acme/large', input: ['a', 'b'] }),
      );
      const { data } = JSON.parse(body.toString()) as { data: { index: number }[] };
      expect(data.map(({ index }) => index)).toEqual([0, 1]);
      expect(usage).toMatchObject({ promptTokens: 8, completionTokens: 0, provenance: 'upstream' });
    });

    const errors = JSON.parse(fixture('errors.json').toString()) as RecordedError[];
    it.each(errors.map((error) => [error.name, error] as const))('maps %s', async (_name, recorded) => {
      const { status, headers, body, expected } = recorded;
      upstream.answers(status, typeof body === 'string' ? body : JSON.stringify(body), headers);
      if (speech.caller === 'responses' && expected.code === 'context_length_exceeded') {
        // The Responses API reports a context that is too long as an incomplete answer.
        const { body: cut } = await ask();
        expect(JSON.parse(cut.toString())).toMatchObject({ status: 'incomplete', output: [] });
        return;
      }
      const error = await refusal(ask());
      expect(error.toWire()).toEqual({
        code: expected.code,
        message: expected.message,
        metadata: { provider_name: 'Acme', ...(expected.hint !== null && { provider_code: expected.hint }) },
        ...(expected.retryAfterSeconds !== undefined && { retryAfterSeconds: expected.retryAfterSeconds }),
        // The only provider does not know the model, or limits the rate.
        ...(AVAILABILITY[expected.code] && { availability: expect.objectContaining(AVAILABILITY[expected.code]!) }),
      });
      expect(`${error.internal} ${error.stack}`).not.toContain(FIXTURE_KEY);
    });

    it('maps the same errors when a stream was asked for', async () => {
      upstream.answers(429, '{}', { 'retry-after': '3' });
      const error = await refusal(stream());
      expect(error).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 3 });
    });

    it.each([
      ['a 200 that is no JSON', (): void => upstream.answers(200, '<html>fine</html>')],
      ['a 200 that breaks off', (): void => upstream.answers(200, answer.subarray(0, 200))],
      ['an empty 200', (): void => upstream.answers(200, '')],
      ['a 200 that says nothing', (): void => upstream.answers(200, speech.silence)],
      ['an error in a 200', (): void => upstream.answers(200, '{"error":{"message":"boom","type":"server_error"}}')],
      [
        'a body shorter than announced',
        (): void => {
          upstream.behaviour = (response) => {
            response.writeHead(200, { 'content-length': '100' });
            response.write('{"id":"x"');
            response.socket?.end();
          };
        },
      ],
      [
        'a connection that is reset',
        (): void => {
          upstream.behaviour = (response) => response.socket?.resetAndDestroy();
        },
      ],
    ])('calls the provider unavailable for %s', async (_name, misbehave) => {
      misbehave();
      expect(await refusal(ask())).toMatchObject({ code: 'provider_unavailable', status: 502, retryable: true });
    });

    it('calls the provider unavailable when nothing listens', async () => {
      await upstream.close();
      expect(await refusal(ask())).toMatchObject({ code: 'provider_unavailable' });
      upstream = await FakeUpstream.start();
    });

    it('stops reading a body that is too long', async () => {
      const piece = Buffer.alloc(1024 * 1024, 0x20);
      upstream.behaviour = (response) => {
        response.writeHead(200);
        const write = (): void => void response.write(piece, (error) => !error && write());
        write();
      };
      expect(await refusal(ask())).toMatchObject({
        code: 'unprocessable',
        internal: expect.stringContaining('too long'),
      });
      expect(await upstream.endings[0]).toBe(false);
    });

    it('gives up on an upstream that never answers', async () => {
      upstream.behaviour = () => undefined;
      const error = await refusal(ask({ timeouts: { headersMs: 60 } }));
      expect(error).toMatchObject({ code: 'timeout', status: 504 });
      expect(await upstream.endings[0]).toBe(false);
    });

    it('gives up on an upstream that drips for longer than the whole call may take', async () => {
      upstream.behaviour = (response) => {
        const drip = setInterval(() => response.write(' '), 10);
        response.writeHead(200).once('close', () => clearInterval(drip));
      };
      expect(await refusal(ask({ timeouts: { totalMs: 500 } }))).toMatchObject({ code: 'timeout' });
      expect(await upstream.endings[0]).toBe(false);
    });

    it.each(['before the head', 'within the body'])(
      'ends the upstream at once when the caller leaves %s',
      async (when) => {
        upstream.behaviour = (response) => {
          if (when === 'within the body') response.writeHead(200).write('{"id":');
          setImmediate(() => controller.abort());
        };
        const startMs = performance.now();
        expect(await refusal(ask())).toMatchObject({ code: 'request_timeout', retryable: false });
        expect(await upstream.endings[0]).toBe(false);
        expect(performance.now() - startMs).toBeLessThan(1_000);
      },
    );

    it('does not call at all for a caller that has left', async () => {
      controller.abort();
      expect(await refusal(ask())).toMatchObject({ code: 'request_timeout' });
      expect(upstream.requests).toHaveLength(0);
    });

    it('uses its connections again', async () => {
      upstream.answers(200, answer);
      for (let i = 0; i < 3; i += 1) await ask();
      upstream.streams(events);
      for (let i = 0; i < 3; i += 1) {
        const { stream: body } = await stream();
        expect(await textOf(body)).not.toBe('');
      }
      // A stream's last bytes may still be on their way when the next call begins.
      expect(upstream.connections).toBeLessThanOrEqual(2);
    });
  });
}
