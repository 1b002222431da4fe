import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '@libs/errors';
import { ArrivingAudio } from '../../audio/arriving-audio';
import { AudioBytes, AudioCollector } from '../../audio/audio-bytes';
import { audioInHand, type AudioInput, type Transcription } from '../../audio/transcription';
import type { TranscriptionRequest } from '../../engine/speech-caller';
import { formatUsd, parseRate } from '../../pricing/money';
import {
  aModel,
  anEndpoint,
  anEngine,
  aProvider,
  aTranscription,
  FakeUpstream,
  FIXTURE_KEY,
  waveFile,
} from '../../testing';

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly status?: number;
  readonly body: object;
  /** The JSON that was sent; forms are judged by `asked.fields`. */
  readonly sent?: object;
}

interface Fixture {
  readonly exchanges: readonly Exchange[];
  readonly expected: object;
  readonly asked: Partial<Transcription> & { readonly fields?: readonly (readonly [string, string])[] };
}

const PROTOCOLS = [
  'openai',
  'azure',
  'google',
  'mistral',
  'deepgram',
  'elevenlabs',
  'assemblyai',
  'azure-speech',
  'gladia',
  'revai',
] as const;
const POLLED: readonly string[] = ['assemblyai', 'gladia', 'revai'];
const WAVE = waveFile(2.5);
const PIECES = [WAVE.subarray(0, 100), WAVE.subarray(100)];
const PRICES = { prompt: 0n, completion: 0n, audioSecond: parseRate('0.0001') };
const CAPABILITIES = { transcription: { diarize: true, keyterms: true, verbose_json: true } };

const ASKED = { generationId: 'gen-1763715600-abcdefghijklmnopqrst', model: 'acme/large', body: Buffer.alloc(0) };
const PLAIN = aTranscription({
  audio: audioInHand('wav', new AudioBytes(PIECES), { seconds: 2.5, longest: 2.5 }),
});

function anArrivingWave() {
  const collector = new AudioCollector(WAVE.length);
  return { collector, arriving: new ArrivingAudio(WAVE.length, collector) };
}

function arrivingInput(arriving: ArrivingAudio): AudioInput {
  const { bytes, length } = audioInHand('wav', new AudioBytes(PIECES), { seconds: 2.5, longest: 2.5 });
  return { format: 'wav', url: null, arriving, bytes, length };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 400 && !isSo(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(isSo()).toBe(true);
}

function fieldsOf(form: string): [string, string][] {
  return [...form.matchAll(/name="([^"]+)"\r\n\r\n([^\r]*)\r\n/g)].map(([, name, value]) => [name!, value!]);
}

describe.each(PROTOCOLS)('speech over the protocol %s', (protocol) => {
  const fixture = JSON.parse(
    readFileSync(join(__dirname, '..', '__fixtures__', protocol, 'transcription.json'), 'utf8'),
  ) as Fixture;
  let upstream: FakeUpstream;
  let engine: ReturnType<typeof anEngine>;
  let controller: AbortController;

  const request = (
    wanted: Partial<Transcription> = {},
    more: Partial<TranscriptionRequest> = {},
  ): TranscriptionRequest => ({
    ...ASKED,
    signal: controller.signal,
    ...more,
    transcription: {
      ...PLAIN,
      isVerbose: true,
      granularities: ['word', 'segment'],
      keyterms: ['Sluice', 'weir'],
      diarize: true,
      ...fixture.asked,
      ...wanted,
    },
  });
  const ask = (...parts: Parameters<typeof request>) => engine.engine.transcribe(request(...parts));
  const refusal = async (run: Promise<unknown>): Promise<AppError> => {
    const thrown: unknown = await run.then(
      () => 'an answer',
      (error: unknown) => error,
    );
    expect(thrown).toBeInstanceOf(AppError);
    return thrown as AppError;
  };
  const replay = (): void => {
    const left = [...fixture.exchanges];
    upstream.behaviour = (response, { method, path }) => {
      const next = left[0]?.method === method && left[0].path === path ? left.shift()! : undefined;
      response.writeHead(next === undefined ? 404 : (next.status ?? 200), { 'content-type': 'application/json' });
      response.end(JSON.stringify(next?.body ?? { message: `${method} ${path} was not expected` }));
    };
  };

  beforeEach(async () => {
    controller = new AbortController();
    upstream = await FakeUpstream.start();
    const provider = aProvider({ protocol, baseUrl: upstream.baseUrl });
    const endpoint = anEndpoint({
      provider,
      upstreamModel: 'upstream-speech',
      apis: ['transcription'],
      pricing: PRICES,
      capabilities: CAPABILITIES,
    });
    engine = anEngine([aModel({ endpoints: [endpoint] })]);
  });

  afterEach(async () => {
    await upstream.close();
    await engine.http.close();
  });

  it('asks and answers as the upstream documents it', async () => {
    replay();
    const { body, usage } = await ask();
    expect(JSON.parse(body.toString())).toEqual(fixture.expected);
    expect(usage.provenance).toBe('upstream');
    for (const [index, { sent }] of fixture.exchanges.entries()) {
      if (sent !== undefined) expect(JSON.parse(upstream.requests[index]!.body)).toEqual(sent);
    }
    const { fields } = fixture.asked;
    if (fields !== undefined) expect(fieldsOf(upstream.requests[0]!.body)).toEqual(fields);
  });

  it('sends the recording once and as it is', async () => {
    replay();
    await ask();
    const isCarrier = ({ body }: { body: string }): boolean =>
      body.includes('WAVEfmt') || body.includes(WAVE.toString('base64'));
    const carriers = upstream.requests.filter(isCarrier);
    expect(carriers).toHaveLength(1);
    expect(carriers[0]!.headers['content-length']).toBeDefined();
  });

  it('passes the recording on while it arrives, with the length that it will have', async () => {
    replay();
    const { collector, arriving } = anArrivingWave();
    const asked = ask({ audio: arrivingInput(arriving) });
    for (const end of [10_000, 30_000]) collector.add(WAVE.subarray(collector.length, end));
    await until(() => upstream.bodyBytes >= 10_000);
    expect(upstream.requests).toEqual([]);
    collector.add(WAVE.subarray(30_000));
    arriving.complete();
    expect(JSON.parse((await asked).body.toString())).toEqual(fixture.expected);
    const [carrier] = upstream.requests;
    expect(carrier!.headers['transfer-encoding']).toBeUndefined();
    expect(carrier!.body).toMatch(/WAVEfmt|UklGR/);
  });

  it('sends nothing whole of a recording that is annulled', async () => {
    replay();
    const { collector, arriving } = anArrivingWave();
    const asked = ask({ audio: arrivingInput(arriving) }, { signal: arriving.annulment });
    for (const end of [10_000, WAVE.length]) collector.add(WAVE.subarray(collector.length, end));
    await until(() => upstream.bodyBytes >= 10_000);
    arriving.annul();
    expect(await refusal(asked)).toMatchObject({ code: 'request_timeout', retryable: false });
    expect(await upstream.endings[0]).toBe(false);
    expect(upstream.requests).toEqual([]);
  });

  it('sends the key as a header and nowhere else', async () => {
    replay();
    await ask();
    for (const { headers, path, body } of upstream.requests) {
      expect(Object.values(headers).filter((value) => String(value).includes(FIXTURE_KEY))).toHaveLength(1);
      expect(path + body).not.toContain(FIXTURE_KEY);
    }
  });

  it.each([
    [400, 'invalid_request'],
    [401, 'provider_unavailable'],
    [402, 'provider_unavailable'],
    [413, 'payload_too_large'],
    [429, 'rate_limit_exceeded'],
    [500, 'provider_unavailable'],
    [503, 'provider_overloaded'],
    [504, 'timeout'],
  ])('maps %d', async (status, code) => {
    upstream.answers(status, JSON.stringify({ err_msg: `key ${FIXTURE_KEY} is bad`, message: FIXTURE_KEY }), {
      'retry-after': '7',
    });
    const error = await refusal(ask());
    expect(error).toMatchObject({ code, retryAfterSeconds: 7 });
    expect(`${error.message} ${error.internal} ${JSON.stringify(error.metadata)}`).not.toContain(FIXTURE_KEY);
  });

  it.each([
    ['no JSON', '<html>'],
    ['a list', '[]'],
    ['nothing of what it should say', '{}'],
    ['an error within', '{"error":{"message":"boom"}}'],
  ])('calls the provider unavailable for a 200 with %s', async (_what, body) => {
    upstream.answers(200, body);
    expect(await refusal(ask())).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });

  it('ends the upstream at once when the caller leaves', async () => {
    upstream.behaviour = () => controller.abort();
    expect(await refusal(ask())).toMatchObject({ code: 'request_timeout', retryable: false });
    expect(await upstream.endings[0]).toBe(false);
  });

  it('gives up when the time is up', async () => {
    const patience = { timeouts: { totalMs: 120 } };
    upstream.behaviour = (response, { method }) => {
      if (POLLED.includes(protocol) && method !== 'DELETE') response.end(JSON.stringify({ id: 'job', ...UPLOADED }));
    };
    expect(await refusal(ask({}, patience))).toMatchObject({ code: 'timeout', metadata: { provider_name: 'Acme' } });
    if (POLLED.includes(protocol)) await withdrawn(upstream);
  });

  it('leaves out options that are not passed on', async () => {
    replay();
    await ask({
      options: { acme: { callback_url: 'https://elsewhere.example', webhook: 'https://elsewhere.example' } },
    });
    expect(upstream.requests.map(({ path, body }) => path + body).join()).not.toContain('elsewhere');
  });

  it('sends options of any form', async () => {
    const names = ['smart_format', 'num_speakers', 'prompt'];
    const odd = JSON.parse('{"toString":1}') as object;
    for (const value of [odd, [odd], null]) {
      replay();
      const options = { acme: Object.fromEntries(names.map((name) => [name, value])) };
      // The path of Deepgram has the options too.
      await ask({ options }).catch((error: AppError) => expect(error.code).not.toBe('server'));
      expect(upstream.requests).not.toHaveLength(0);
      upstream.requests.length = 0;
    }
  });

  it('passes no options of other providers on', async () => {
    replay();
    await ask({ options: { other: { anything: 1 } } });
    expect(upstream.requests.map(({ path, body }) => path + body).join()).not.toContain('anything');
  });
});

const UPLOADED = { upload_url: 'https://x.example/1', audio_url: 'https://x.example/1', status: 'processing' };

async function withdrawn(upstream: FakeUpstream): Promise<void> {
  await until(() => upstream.requests.some(({ method }) => method === 'DELETE'));
}

describe('languages at Azure AI Speech', () => {
  it.each([
    ['fast', null, {}],
    ['fast', 'de', { locales: ['de-DE'] }],
    ['fast', 'ja', { locales: ['ja-JP'] }],
    ['mai-transcribe-1.5', 'ja', { locales: ['ja'], enhancedMode: { enabled: true, model: 'mai-transcribe-1.5' } }],
  ])('are said as its model %s takes them: %s', async (upstreamModel, language, definition) => {
    const upstream = await FakeUpstream.start();
    upstream.answers(200, JSON.stringify({ combinedPhrases: [], phrases: [], durationMilliseconds: 2_500 }));
    const provider = aProvider({ protocol: 'azure-speech', baseUrl: upstream.baseUrl });
    const endpoint = anEndpoint({ provider, upstreamModel, apis: ['transcription'], pricing: PRICES });
    const { engine, http } = anEngine([aModel({ endpoints: [endpoint] })]);
    const { body } = await engine.transcribe({
      ...ASKED,
      signal: new AbortController().signal,
      transcription: {
        ...PLAIN,
        language,
      },
    });
    // The transcript of silence is empty.
    expect(JSON.parse(body.toString())).toMatchObject({ text: '' });
    expect(fieldsOf(upstream.requests[0]!.body)).toEqual([['definition', JSON.stringify(definition)]]);
    await upstream.close();
    await http.close();
  });
});

describe('recordings that arrive', () => {
  it('have a quarter of the connections of a provider; others wait until they are whole', async () => {
    const upstream = await FakeUpstream.start();
    upstream.answers(200, '{"text":"Hello."}');
    const provider = aProvider({ baseUrl: upstream.baseUrl, maxConcurrency: 8 });
    const endpoint = anEndpoint({ provider, apis: ['transcription'], pricing: PRICES });
    const { engine, http } = anEngine([aModel({ endpoints: [endpoint] })]);
    const calls = Array.from({ length: 3 }, () => {
      const { collector, arriving } = anArrivingWave();
      const audio = arrivingInput(arriving);
      const transcription = { ...PLAIN, audio };
      const answer = engine.transcribe({ ...ASKED, signal: arriving.annulment, transcription });
      for (const end of [10_000, WAVE.length]) collector.add(WAVE.subarray(collector.length, end));
      return { arriving, answer };
    });
    await until(() => upstream.bodyBytes >= 20_000);
    const [first, second, third] = calls;
    expect(upstream.connections).toBe(2);
    third!.arriving.complete();
    expect((await third!.answer).body.toString()).toContain('Hello.');
    expect(upstream.connections).toBe(3);
    // A recording that is complete or annulled frees its place.
    first!.arriving.annul();
    await expect(first!.answer).rejects.toThrow();
    const { collector, arriving } = anArrivingWave();
    const transcription = { ...PLAIN, audio: arrivingInput(arriving) };
    const before = upstream.bodyBytes;
    const fourth = engine.transcribe({ ...ASKED, signal: arriving.annulment, transcription });
    for (const end of [10_000, WAVE.length]) collector.add(WAVE.subarray(collector.length, end));
    await until(() => upstream.bodyBytes > before);
    for (const one of [second!.arriving, arriving]) one.complete();
    await Promise.all([second!.answer, fourth]);
    await upstream.close();
    await http.close();
  });
});

describe('a recording at a URL', () => {
  it('is passed on where the provider downloads, and fetched once where one of them does not', async () => {
    const upstream = await FakeUpstream.start();
    const paths: string[] = [];
    upstream.behaviour = (response, { path, body }) => {
      paths.push(`${path.split('?')[0]} ${body.includes('WAVEfmt') ? 'bytes' : body}`);
      response.writeHead(503).end('{}');
    };
    const endpoint = (protocol: string) =>
      anEndpoint({
        provider: aProvider({ slug: protocol, protocol, baseUrl: upstream.baseUrl }),
        apis: ['transcription'],
        pricing: PRICES,
      });
    const both = aModel({ endpoints: [endpoint('deepgram'), endpoint('openai')] });
    const one = aModel({ slug: 'acme/small', endpoints: [endpoint('deepgram')] });
    const { engine, http } = anEngine([both, one]);
    let fetched = 0;
    const audio = {
      format: 'wav' as const,
      url: 'https://sounds.example/a.wav',
      bytes: () => Promise.resolve(((fetched += 1), new AudioBytes(PIECES))),
      arriving: null,
      length: () => null,
    };
    const request = { ...ASKED, transcription: { ...PLAIN, audio } };
    const { signal } = new AbortController();
    await engine.transcribe({ ...request, signal, model: 'acme/small' }).catch(() => undefined);
    expect(fetched).toBe(0);
    await engine.transcribe({ ...request, signal }).catch(() => undefined);
    expect(fetched).toBeGreaterThan(0);
    expect(paths).toEqual(
      expect.arrayContaining(['/v1/listen {"url":"https://sounds.example/a.wav"}', '/v1/audio/transcriptions bytes']),
    );
    await upstream.close();
    await http.close();
  });
});

describe('the length that an upstream reports', () => {
  it.each(['', ' ', null, 'long'])('is none where it is %j: what was measured is charged', async (duration) => {
    const upstream = await FakeUpstream.start();
    upstream.answers(200, JSON.stringify({ text: 'Hi', duration }));
    const provider = aProvider({ protocol: 'openai', baseUrl: upstream.baseUrl });
    const endpoint = anEndpoint({ provider, apis: ['transcription'], pricing: PRICES });
    const { engine, http } = anEngine([aModel({ endpoints: [endpoint] })]);
    const { cost } = await engine.transcribe({
      ...ASKED,
      signal: new AbortController().signal,
      transcription: PLAIN,
    });
    expect(formatUsd(cost.totalCost)).toBe('0.00025');
    await http.close();
    await upstream.close();
  });
});
