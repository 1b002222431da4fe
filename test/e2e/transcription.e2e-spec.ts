import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { fieldPart, filePart, rawForm, waveFile } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { HttpsHost, selfSignedCertificate } from '@libs/platform/testing';
import { PROVIDER_KEY_VARIABLE } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { amountOf, textOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { Installation, PROVIDER_KEY } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { CANARY, expectRefusal } from './refusals';
import { settledGeneration } from './stored-generation';

const PATH = '/audio/transcriptions';
const PER_SECOND = '0.0000123';
const MOST_BYTES = 25 * 1024 * 1024;
const WAVE = waveFile(2.5);
const DATA = WAVE.toString('base64');
const FULL = { transcription: { diarize: true, keyterms: true, verbose_json: true } };
const BOUNDARY = 'a-boundary-of-tests';
const IN_ORDER = { provider: { order: ['busy', 'second'] } };

interface Upload {
  readonly provider: string;
  readonly path: string;
  readonly authorization: string;
  readonly text: string;
  readonly bytes: number;
  readonly digest: string;
}

type Answer = (response: ServerResponse, upload: Upload) => void;

const says =
  (status: number, body: object, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const refuses = (status: number): Answer => says(status, { error: { message: CANARY, type: 'error' } });

/** By provider, which is the first part of the path. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  plain: says(200, { text: 'Hello.' }),
  second: says(200, { text: 'From the second.' }),
  busy: refuses(503),
  edge: refuses(524),
  broken: refuses(500),
  locked: says(401, { error: { message: `Incorrect API key provided: ${PROVIDER_KEY}` } }),
  hanging: () => undefined,
  tokens: says(200, {
    text: 'Hi',
    usage: { type: 'tokens', input_tokens: 30, input_token_details: { audio_tokens: 25 }, output_tokens: 4 },
  }),
  deep: says(200, {
    metadata: { request_id: 'dg-1', duration: 2.5 },
    results: {
      channels: [
        {
          detected_language: 'en',
          language_confidence: 0.9,
          alternatives: [
            {
              transcript: 'Hello. Hi.',
              confidence: 0.8,
              words: [
                { word: 'hello', punctuated_word: 'Hello.', start: 0, end: 0.5, confidence: 0.9, speaker: 1 },
                { word: 'hi', punctuated_word: 'Hi.', start: 1, end: 1.5, confidence: 0.7, speaker: 0 },
              ],
            },
          ],
        },
      ],
    },
  }),
};

const uploads: Upload[] = [];
let abandoned = 0;
let upstream: Server;
let host: HttpsHost;
let folder: string;
let installation: Installation;
let client: ApiClient;
let poor: Tenant;

async function takeUpload(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const [, provider = '', ...rest] = request.url!.split('/');
  const upload = {
    provider,
    path: rest.join('/'),
    authorization: String(request.headers.authorization),
    text: body.subarray(0, 4_096).toString('latin1'),
    bytes: body.length,
    digest: digestOfFile(body),
  };
  uploads.push(upload);
  response.once('close', () => {
    if (!response.writableFinished) abandoned += 1;
  });
  ANSWERS[provider]!(response, upload);
}

/** Of the file in a form. */
function digestOfFile(body: Buffer): string {
  const start = body.indexOf('RIFF');
  const end = body.lastIndexOf('\r\n--');
  return createHash('sha256')
    .update(body.subarray(start, end > start ? end : body.length))
    .digest('hex');
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function catalogue(port: number): string {
  const provider = (slug: string): object => ({
    slug,
    name: `Test ${slug}`,
    base_url: `http://127.0.0.1:${port}/${slug}/v1`,
    protocol: slug === 'deep' ? 'deepgram' : 'openai',
    api_key_env: PROVIDER_KEY_VARIABLE,
    data_policy: { retains_prompts: slug !== 'second', trains_on_prompts: false, zdr: slug === 'second' },
    max_concurrency: 64,
  });
  const endpoint = (slug: string): object => ({
    provider: slug,
    upstream_model: `upstream-${slug}`,
    apis: ['transcription'],
    pricing:
      slug === 'tokens'
        ? { prompt: '0.000002', completion: '0.00001', audio: '0.000006' }
        : { audio_second: PER_SECOND },
    ...(slug === 'deep' && { option_pricing: { keyterms: '0.0000027', diarize: '0' } }),
    zdr: slug === 'second',
    capabilities: slug === 'deep' ? FULL : {},
  });
  const model = (slug: string, providers: readonly string[]): object => ({
    slug: `speech/${slug}`,
    name: slug,
    description: 'A model of the tests.',
    endpoints: providers.map(endpoint),
  });
  const slugs = Object.keys(ANSWERS);
  return JSON.stringify({
    providers: slugs.map(provider),
    models: [...slugs.map((slug) => model(slug, [slug])), model('either', ['busy', 'second'])],
  });
}

beforeAll(async () => {
  upstream = createServer((request, response) => void takeUpload(request, response).catch(() => (abandoned += 1)));
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  host = await HttpsHost.start(
    (_request, response) => void response.end(WAVE),
    selfSignedCertificate(['localhost', '127.0.0.1']),
  );
  folder = mkdtempSync(join(tmpdir(), 'sluice-speech-'));
  const authority = join(folder, 'authority.pem');
  writeFileSync(authority, host.certificate);
  installation = await Installation.start({
    catalogue: catalogue((upstream.address() as AddressInfo).port),
    apps: ['auth', 'gateway'],
    environmentOf: {
      gateway: {
        EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
        NODE_EXTRA_CA_CERTS: authority,
        TRANSCRIPTION_TIMEOUT_MS: '3000',
      },
    },
  });
  client = installation.client();
  poor = await new Operator(installation).createTenant('Poor', null);
}, 240_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await host?.stop();
  upstream?.closeAllConnections();
  upstream?.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  uploads.length = 0;
});

const ask = (model: string, more: object = {}, headers = {}) =>
  client.request<Record<string, unknown>>(
    'POST',
    PATH,
    { model: `speech/${model}`, input_audio: { data: DATA, format: 'wav' }, ...more },
    headers,
  );

/** A form whose file comes last. */
function uploadLast(model: string, file: Buffer): Promise<Response> {
  const form = rawForm(BOUNDARY, [fieldPart('model', `speech/${model}`), filePart(file)]);
  const headers = {
    authorization: `Bearer ${installation.seed.apiKey}`,
    'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
  };
  return fetch(installation.baseUrl + PATH, { method: 'POST', body: new Uint8Array(form), headers });
}

function upload(
  model: string,
  file: Buffer,
  name = 'speech.wav',
  more: Record<string, string> = {},
): Promise<Response> {
  const form = new FormData();
  form.set('file', new File([new Uint8Array(file)], name));
  for (const [field, value] of Object.entries({ model: `speech/${model}`, ...more })) form.set(field, value);
  const headers = { authorization: `Bearer ${installation.seed.apiKey}` };
  return fetch(installation.baseUrl + PATH, { method: 'POST', body: form, headers });
}

const url = (address: string, format: string | undefined = 'wav'): object => ({
  input_audio: { url: address, ...(format && { format }) },
});

/** As long as an upload may be, and `more` bytes beyond. */
function longWave(more = 0): Buffer {
  const file = Buffer.alloc(MOST_BYTES + more, 0x11);
  waveFile(0.01).copy(file);
  file.writeUInt32LE(file.length - 44, 40);
  return file;
}

describe('a transcription', () => {
  const cost = textOf((amountOf(PER_SECOND) * 25n) / 10n);

  it('answers base64, a form and a URL alike, and charges each once', async () => {
    const inJson = await ask('plain');
    expect(inJson).toMatchObject({ status: 200, body: { text: 'Hello.', usage: { cost, seconds: 2.5 } } });
    const inForm = await upload('plain', WAVE, 'speech.wav', { user: 'u-1', session_id: 's-1', prompt: 'x' });
    expect(await inForm.json()).toEqual(JSON.parse(inJson.text));
    const byUrl = await ask('plain', url(host.url('/speech.wav'), undefined));
    expect(byUrl.body).toEqual(inJson.body);
    expect(uploads.map(({ digest }) => digest)).toEqual(Array(3).fill(digestOf(WAVE)));
    expect(uploads.map(({ text }) => text).join()).not.toMatch(/u-1|s-1|prompt/);
    expect(new Set(uploads.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${PROVIDER_KEY}`]));
    const ids = [
      inJson.headers['x-generation-id'],
      inForm.headers.get('x-generation-id'),
      byUrl.headers['x-generation-id'],
    ];
    for (const id of ids) {
      const row = await settledGeneration(installation.database, String(id));
      expect(row).toMatchObject({ state: 'settled', outcome: 'completed', provider: 'plain', provenance: 'estimated' });
      expect(row.charges.map((charge) => textOf(amountOf(charge)))).toEqual([cost]);
    }
    const generation = await client.request<{ data: object }>('GET', `/generation?id=${String(ids[0])}`);
    expect(generation.body.data).toMatchObject({
      api_type: 'stt',
      num_input_audio_prompt: 1,
      provider_name: 'Test plain',
    });
  });

  it('tells words and speakers, and passes a URL on to who downloads it', async () => {
    const reached = host.connections;
    const wish = { response_format: 'verbose_json', diarize: true, keyterms: ['Sluice'], language: 'en' };
    const { status, body } = await ask('deep', { ...wish, ...url('https://sounds.example/a.wav') });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      text: 'Hello. Hi.',
      task: 'transcribe',
      duration: 2.5,
      confidence: 0.8,
      language_confidence: 0.9,
      words: [
        { word: 'Hello.', speaker: 0, speaker_label: 'speaker_1' },
        { word: 'Hi.', speaker: 1, speaker_label: 'speaker_0' },
      ],
      segments: [
        { id: 0, start: 0, end: 0.5, text: 'Hello.' },
        { id: 1, text: 'Hi.' },
      ],
      usage: { cost: '0.0000375', seconds: 2.5 },
    });
    expect(uploads[0]).toMatchObject({ text: '{"url":"https://sounds.example/a.wav"}' });
    expect(uploads[0]!.path).toMatch(/^v1\/listen\?.*language=en&diarize=true&keyterm=Sluice/);
    expect(host.connections).toBe(reached);
  });

  it('charges tokens where tokens are sold, to the last digit', async () => {
    const { body, headers } = await ask('tokens');
    expect(body['usage']).toEqual({
      cost: '0.0002',
      seconds: 2.5,
      input_tokens: 30,
      output_tokens: 4,
      total_tokens: 34,
    });
    const row = await settledGeneration(installation.database, String(headers['x-generation-id']));
    expect(row).toMatchObject({ prompt_tokens: 30, completion_tokens: 4, provenance: 'upstream' });
  });

  it('sends another provider the same bytes when the first is busy', async () => {
    const { status, body } = await ask('either', IN_ORDER, { 'x-sluice-metadata': 'enabled' });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { text: 'From the second.', sluice_metadata: { attempt: 2 } },
    });
    expect(uploads.map(({ provider, digest }) => [provider, digest])).toEqual([
      ['busy', digestOf(WAVE)],
      ['second', digestOf(WAVE)],
    ]);
  });

  it('asks only who keeps nothing, where that is asked for', async () => {
    await ask('either', { provider: { ...IN_ORDER.provider, zdr: true } });
    expect(uploads.map(({ provider }) => provider)).toEqual(['second']);
    expectRefusal(await ask('plain', { provider: { data_collection: 'deny' } }), 404);
    expect(uploads).toHaveLength(1);
  });

  it('A05, A35 takes 25 MiB in either form and not a byte more', async () => {
    const whole = longWave();
    expect((await upload('plain', whole)).status).toBe(200);
    expect(uploads[0]!.digest).toBe(digestOf(whole));
    expect((await ask('plain', { input_audio: { data: whole.toString('base64'), format: 'wav' } })).status).toBe(200);
    expect(uploads[1]!.digest).toBe(digestOf(whole));
    // Behind the other fields it is passed on while it arrives.
    expect((await uploadLast('plain', whole)).status).toBe(200);
    expect(uploads[2]!.digest).toBe(digestOf(whole));
    const tooLong = longWave(1);
    expect((await upload('plain', tooLong)).status).toBe(413);
    expect((await uploadLast('plain', tooLong)).status).toBe(413);
    expectRefusal(await ask('plain', { input_audio: { data: tooLong.toString('base64'), format: 'wav' } }), 413);
    expect(uploads).toHaveLength(3);
  });

  it('A36 outlives callers who leave in the middle of their upload', async () => {
    const port = Number(new URL(installation.baseUrl).port);
    const form = rawForm(BOUNDARY, [fieldPart('model', 'speech/plain'), filePart(waveFile(60))]);
    const head = [
      `POST /api/v1${PATH} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${installation.seed.apiKey}`,
      `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
      `Content-Length: ${form.length}`,
    ].join('\r\n');
    const leave = async (): Promise<void> => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(`${head}\r\n\r\n`);
      await new Promise((resolve) => socket.write(form.subarray(0, form.length / 2), resolve));
      socket.destroy();
    };
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 10 }, leave));
    expect((await ask('plain')).status).toBe(200);
    expect(uploads).toHaveLength(1);
    expect(installation.deathsOf('gateway')).toBe(0);
  });

  it('ends the provider when its caller leaves, and charges nothing', async () => {
    const before = abandoned;
    const leaving = new AbortController();
    const body = JSON.stringify({ model: 'speech/hanging', input_audio: { data: DATA, format: 'wav' } });
    const headers = { authorization: `Bearer ${installation.seed.apiKey}`, 'content-type': 'application/json' };
    const asked = fetch(installation.baseUrl + PATH, { method: 'POST', body, headers, signal: leaving.signal });
    await eventually('the provider is asked', 5_000, () => uploads.length > 0 || undefined);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await eventually('the provider is left', 2_000, () => abandoned > before || undefined);
  });

  it.each([
    ['504 by our own clock', 'hanging', 504],
    ['524 by the clock of the provider', 'edge', 524],
    ['529 for a busy provider', 'busy', 529],
    ['502 for a broken one', 'broken', 502],
    ['502 for one that does not know our key', 'locked', 502],
  ])('answers %s', async (_why, model, status) => {
    expectRefusal(await ask(model), status, [PROVIDER_KEY]);
  });

  it('A41 asks nobody for who cannot pay', async () => {
    const caller = installation.client(poor.apiKey);
    const answer = await caller.request('POST', PATH, {
      model: 'speech/plain',
      input_audio: { data: DATA, format: 'wav' },
    });
    await caller.close();
    expectRefusal(answer, 402);
    expect(uploads).toHaveLength(0);
  });

  it.each<[string, string, object, number]>([
    ['A01 of no model', 'plain', { model: undefined }, 400],
    ['A01 of a model nobody has', 'none', {}, 400],
    ['A02 of nothing', 'plain', { input_audio: undefined }, 400],
    [
      'A03 of two recordings',
      'plain',
      { input_audio: { data: DATA, url: 'https://x.example/a.wav', format: 'wav' } },
      400,
    ],
    ['A04 of no base64', 'plain', { input_audio: { data: `${CANARY}!`, format: 'wav' } }, 400],
    ['A06 of a data URL', 'plain', { input_audio: { data: `data:audio/wav;base64,${DATA}`, format: 'wav' } }, 400],
    ['A07 in no format', 'plain', { input_audio: { data: DATA, format: CANARY } }, 400],
    ['A08 of something else', 'plain', { input_audio: { data: 'f0VMRgAA', format: 'wav' } }, 400],
    ['A10 over http', 'plain', url('http://sounds.example/a.wav'), 400],
    ['A10 of a file', 'plain', url(`file:///etc/${CANARY}`), 400],
    ['A10 with a password', 'plain', url(`https://a:${CANARY}@sounds.example/a.wav`), 400],
    ['A10 of our metadata', 'plain', url('https://169.254.169.254/latest'), 400],
    ['A13 in English', 'plain', { language: 'english' }, 400],
    ['A14 as subtitles', 'plain', { response_format: 'srt' }, 400],
    ['A15 in detail that nobody has', 'plain', { response_format: 'verbose_json' }, 400],
    ['A16 too warm', 'plain', { temperature: 2.1 }, 400],
    ['A17 by sentence', 'deep', { response_format: 'verbose_json', timestamp_granularities: ['sentence'] }, 400],
    ['A18 with too many terms', 'deep', { keyterms: Array.from({ length: 101 }, (_, i) => `t${i}`) }, 400],
    ['A19 with terms that nobody takes', 'plain', { keyterms: ['x'] }, 400],
    ['A20 of speakers in plain JSON', 'deep', { diarize: true }, 400],
    ['A21 of too long a session', 'plain', { session_id: 'x'.repeat(257) }, 400],
    ['A42 that nobody forgets', 'plain', { provider: { zdr: true } }, 404],
  ])('%s is refused before anybody is asked', async (_name, model, more, status) => {
    expectRefusal(await ask(model, more), status);
    expect(uploads).toHaveLength(0);
  });

  describe('of a URL', () => {
    it.each<[string, Parameters<HttpsHost['answerWith']>[0], number]>([
      [
        'A11 that leads to metadata',
        (_request, response) => response.writeHead(302, { location: 'https://169.254.169.254/' }).end(),
        400,
      ],
      ['A12 that is not there', (_request, response) => response.writeHead(404).end('no'), 400],
      ['A12 of another kind', (_request, response) => response.end('<html>'), 400],
      [
        'A12 that never ends',
        (_request, response) => {
          const piece = Buffer.alloc(1024 * 1024, 0x11);
          const write = (): void => void response.write(piece, (error) => !error && write());
          write();
        },
        413,
      ],
    ])('%s is refused before a provider is asked', async (_name, behaviour, status) => {
      host.answerWith(behaviour);
      expectRefusal(await ask('plain', url(host.url('/a.wav'))), status);
      expect(uploads).toHaveLength(0);
    });
  });

  it('is listed among what can be done', async () => {
    const { body } = await client.request<{ data: object[] }>('GET', '/models?output_modalities=transcription');
    expect(body.data).toContainEqual(
      expect.objectContaining({
        id: 'speech/plain',
        architecture: expect.objectContaining({ input_modalities: ['audio'], output_modalities: ['transcription'] }),
        pricing: expect.objectContaining({ audio_second: PER_SECOND }),
      }),
    );
  });
});

it('leaves the books balanced, with nothing held', async () => {
  await eventually('every call is settled', 10_000, async () => {
    const row = await installation.database.firstRow<{ open: number; held: string }>({
      sql: `SELECT (SELECT count(*)::integer FROM generations WHERE state = 'open') AS open,
                   (SELECT sum(held_usd)::text FROM ledger_accounts) AS held`,
      values: [],
    });
    return row!.open === 0 && Number(row!.held) === 0 ? true : undefined;
  });
  expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
});
