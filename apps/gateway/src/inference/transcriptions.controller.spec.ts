import { fieldPart, filePart, rawForm, waveFile, type RawPart } from '@libs/inference/testing';
import { until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';
import { TranscriptionsController } from './transcriptions.controller';

const WAVE = waveFile(2.5);
const ONE = { model: 'test/speech', input_audio: { data: WAVE.toString('base64'), format: 'wav' } };
const VERBOSE = { ...ONE, model: 'test/verbose', response_format: 'verbose_json' };
const BOUNDARY = 'boundary-of-a-test';
const PATH = 'audio/transcriptions';

interface Sent {
  readonly text: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** What an upstream got, by the fields of the form. */
function readSent(body: Buffer): Sent {
  const text = body.toString('latin1');
  const fields = [...text.matchAll(/name="([^"]+)"\r\n\r\n([^\r]*)\r\n/g)].map(
    ([, name, value]) => [name!, value!] as const,
  );
  return { text, fields: new Map(fields) };
}

describe(TranscriptionsController.name, () => {
  let app: InferenceApp;

  beforeAll(async () => {
    app = await InferenceApp.start();
  });

  beforeEach(() => {
    app.upstreamCalls.length = 0;
    app.books.isBroke = false;
    app.answer = (_request, response) => void response.end(JSON.stringify({ text: 'Hello there.' }));
  });

  afterAll(() => app.close());

  const postForm = (
    parts: readonly RawPart[],
    ending?: string,
    contentType = `multipart/form-data; boundary=${BOUNDARY}`,
  ) =>
    fetch(`${app.url}/${PATH}`, {
      method: 'POST',
      body: new Uint8Array(rawForm(BOUNDARY, parts, ending)),
      headers: { authorization: `Bearer ${app.key}`, 'content-type': contentType },
    });

  const model = fieldPart('model', 'test/speech');

  it('calls nobody for who cannot pay', async () => {
    app.books.isBroke = true;
    const poor = await app.post(PATH, { ...ONE, model: 'test/spoken-tokens' });
    expect(poor.status).toBe(402);
    expect(app.upstreamCalls).toHaveLength(0);
  });

  it('answers what was said, names the generation and charges the seconds it measured', async () => {
    const response = await app.post(PATH, ONE);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ text: 'Hello there.', usage: { cost: 0.00025, seconds: 2.5 } });
    const generationId = response.headers.get('x-generation-id');
    await app.recorder.flush();
    expect(app.books.settled.at(-1)).toMatchObject({
      id: generationId,
      api: 'transcription',
      costUsd: '0.00025',
      statusCode: 200,
      details: { audioParts: 1 },
    });
    const generation = await app.post(`generation?id=${generationId}`, undefined, { method: 'GET', body: null });
    expect(await generation.json()).toMatchObject({
      data: { api_type: 'stt', num_input_audio_prompt: 1, total_cost: 0.00025 },
    });
  });

  it('passes a form on with its own words, and the file byte by byte', async () => {
    const response = await postForm([
      filePart(WAVE, '../../etc/x.wav'),
      model,
      fieldPart('language', 'de'),
      fieldPart('temperature', '0.5'),
      fieldPart('user', 'somebody'),
      fieldPart('session_id', 'session'),
      fieldPart('prompt', 'ignored'),
    ]);
    expect(response.status).toBe(200);
    const { text, fields } = readSent(app.upstreamCalls[0]!);
    expect(Object.fromEntries(fields)).toEqual({
      model: 'transcription-model',
      response_format: 'json',
      language: 'de',
      temperature: '0.5',
    });
    expect(text).toContain('filename="audio.wav"');
    expect(app.upstreamCalls[0]!.includes(WAVE)).toBe(true);
    expect(text).not.toMatch(/somebody|session|ignored|etc/);
  });

  it('tells words, segments, language and length where they are asked for', async () => {
    const words = [{ word: 'Hello', start: 0, end: 0.5 }];
    const segments = [{ id: 7, start: 0, end: 1, text: ' Hello', seek: 0, tokens: [1, 2], avg_logprob: -0.1 }];
    app.answer = (_request, response) =>
      void response.end(
        JSON.stringify({ task: 'transcribe', language: 'english', duration: 2.4, text: 'Hello', words, segments }),
      );
    const response = await app.post(PATH, { ...VERBOSE, timestamp_granularities: ['word', 'segment'] });
    expect(await response.json()).toEqual({
      text: 'Hello',
      task: 'transcribe',
      language: 'english',
      duration: 2.4,
      words,
      segments: [{ ...segments[0], id: 0 }],
      usage: { cost: 0.00024, seconds: 2.4 },
    });
    const plain = await app.post(PATH, { ...ONE, model: 'test/verbose' });
    expect(await plain.json()).toEqual({ text: 'Hello', usage: { cost: 0.00024, seconds: 2.4 } });
    expect(readSent(app.upstreamCalls[1]!).fields.get('response_format')).toBe('verbose_json');
  });

  it('charges tokens where tokens are sold', async () => {
    const usage = { input_tokens: 30, input_token_details: { audio_tokens: 25, text_tokens: 5 }, output_tokens: 4 };
    app.answer = (_request, response) => void response.end(JSON.stringify({ text: 'Hi', usage }));
    const response = await app.post(PATH, { ...ONE, model: 'test/spoken-tokens' });
    expect(await response.json()).toEqual({
      text: 'Hi',
      usage: { cost: 0.0002, seconds: 2.5, input_tokens: 30, output_tokens: 4, total_tokens: 34 },
    });
  });

  it('tells how it was routed to who asks', async () => {
    const response = await app.post(PATH, JSON.stringify(ONE), {
      headers: {
        authorization: `Bearer ${app.key}`,
        'content-type': 'application/json',
        'x-sluice-metadata': 'enabled',
      },
    });
    expect(await response.json()).toMatchObject({
      text: 'Hello there.',
      sluice_metadata: { attempt: 1, requested: 'test/speech' },
    });
  });

  it('refuses a number that no reader of the body can represent', async () => {
    const body = JSON.stringify(ONE).replace('{', '{"seed":1e999,');
    const answer = await app.post(PATH, body);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('it has a number that is too large');
  });

  it('takes base64 whose slashes are escaped', async () => {
    const data = Buffer.concat([WAVE, Buffer.alloc(300, 0xff)]);
    data.writeUInt32LE(data.length - 44, 40);
    const body = JSON.stringify({ ...ONE, input_audio: { format: 'WAV', data: data.toString('base64') } });
    const response = await app.post(PATH, body.replaceAll('/', '\\/'));
    expect(response.status).toBe(200);
    expect(app.upstreamCalls[0]!.includes(data)).toBe(true);
  });

  it.each([
    [503, 529],
    [529, 529],
    [500, 502],
    [524, 524],
    [504, 524],
    [429, 429],
    [401, 502],
    [400, 400],
  ])('answers an upstream that says %d with %d', async (theirs, ours) => {
    app.answer = (_request, response) => void response.writeHead(theirs).end('{"error":{"message":"no"}}');
    const response = await app.post(PATH, { ...ONE, model: `test/${theirs === 429 ? 'verbose' : 'speech'}` });
    expect(response.status).toBe(ours);
    expect(await response.json()).toMatchObject({ error: { code: ours } });
    await app.recorder.flush();
    expect(app.books.settled.at(-1)).toMatchObject({ statusCode: ours, costUsd: '0' });
  });

  it('is told 504 by its own clock, and ends the upstream', async () => {
    const aborts = app.upstreamAborts;
    app.answer = () => undefined;
    const response = await app.post(PATH, { ...ONE, model: 'test/spoken-tokens' });
    expect(response.status).toBe(504);
    await until(() => app.upstreamAborts > aborts);
  });

  const audio = (input: unknown): object => ({ ...ONE, input_audio: input });
  const url = (address: string): object => audio({ url: address, format: 'wav' });

  it.each<[string, object]>([
    ['A01', { ...ONE, model: undefined }],
    ['A01 unknown', { ...ONE, model: 'test/none' }],
    ['A01 other kind', { ...ONE, model: 'test/chat' }],
    ['A02', { ...ONE, input_audio: undefined }],
    ['A02 empty', audio({})],
    ['A02 null', audio(null)],
    ['A03', audio({ ...ONE.input_audio, url: 'https://example.com/a.wav' })],
    ['A04 nothing', audio({ data: '', format: 'wav' })],
    ['A04 number', audio({ data: 1, format: 'wav' })],
    ['A04 no base64', audio({ data: '!!!!', format: 'wav' })],
    ['A04 padding', audio({ data: 'UklGRg=', format: 'wav' })],
    ['A04 padding inside', audio({ data: 'Ukl=RgAA', format: 'wav' })],
    ['A04 other alphabet', audio({ data: 'Uk-_RgAA', format: 'wav' })],
    ['A04 blanks', audio({ data: ' '.repeat(4_000), format: 'wav' })],
    ['A06', audio({ data: `data:audio/wav;base64,${ONE.input_audio.data}`, format: 'wav' })],
    ['A07 missing', audio({ data: ONE.input_audio.data })],
    ['A07 unknown', audio({ data: ONE.input_audio.data, format: 'exe' })],
    ['A08 mp3', audio({ data: Buffer.from('ID3\u0004rest of it').toString('base64'), format: 'wav' })],
    ['A08 ELF', audio({ data: Buffer.from('\u007fELF').toString('base64'), format: 'wav' })],
    ['A08 head only', audio({ data: waveFile(0).toString('base64'), format: 'wav' })],
    ['A10 http', url('http://example.com/a.wav')],
    ['A10 ftp', url('ftp://example.com/a.wav')],
    ['A10 file', url('file:///etc/passwd')],
    ['A10 userinfo', url('https://a:b@example.com/a.wav')],
    ['A10 address', url('https://127.0.0.1/a.wav')],
    ['A10 decimal address', url('https://2130706433/a.wav')],
    ['A10 port', url('https://example.com:22/a.wav')],
    ['A10 localhost', url('https://localhost/a.wav')],
    ['A10 no format', audio({ url: 'https://example.com/a' })],
    ['A13', { ...ONE, language: 'english' }],
    ['A13 region', { ...ONE, language: 'EN-us' }],
    ['A13 empty', { ...ONE, language: '' }],
    ['A14', { ...ONE, response_format: 'srt' }],
    ['A14 number', { ...ONE, response_format: 1 }],
    ['A15', { ...ONE, response_format: 'verbose_json' }],
    ['A16', { ...ONE, temperature: -1 }],
    ['A16 high', { ...ONE, temperature: 2.1 }],
    ['A16 text', { ...ONE, temperature: 'a' }],
    ['A17', { ...VERBOSE, timestamp_granularities: ['sentence'] }],
    ['A17 text', { ...VERBOSE, timestamp_granularities: 'word' }],
    ['A17 none', { ...VERBOSE, timestamp_granularities: [] }],
    ['A18 none', { ...ONE, keyterms: [] }],
    ['A18 many', { ...ONE, keyterms: Array.from({ length: 101 }, (_, i) => `k${i}`) }],
    ['A18 long', { ...ONE, keyterms: ['x'.repeat(1_001)] }],
    ['A18 empty', { ...ONE, keyterms: [''] }],
    ['A18 number', { ...ONE, keyterms: [1] }],
    ['A19', { ...ONE, keyterms: ['x'] }],
    ['A20 json', { ...ONE, diarize: true }],
    ['A20 model', { ...VERBOSE, diarize: true }],
    ['A21', { ...ONE, session_id: 'x'.repeat(257) }],
    ['A21 user', { ...ONE, user: 'x'.repeat(257) }],
    ['trace', { ...ONE, trace: 'x' }],
    ['options', { ...ONE, provider: { options: { test: 'srt' } } }],
    ['stream', { ...ONE, stream: true }],
  ])('refuses %s', async (_name, body) => {
    const response = await app.post(PATH, body);
    expect({ status: response.status, body: await response.text() }).toMatchObject({ status: 400 });
    expect(app.upstreamCalls).toHaveLength(0);
  });

  it('A09 refuses a head that claims more than there is, without making room for it', async () => {
    const lying = Buffer.from(WAVE);
    lying.writeUInt32LE(0xffff_fff0, 40);
    const response = await app.post(PATH, audio({ data: lying.toString('base64'), format: 'wav' }));
    expect(response.status).toBe(400);
  });

  it('A42 asks nobody where no provider keeps nothing', async () => {
    const response = await app.post(PATH, { ...ONE, provider: { zdr: true } });
    expect(response.status).toBe(404);
    expect(app.upstreamCalls).toHaveLength(0);
  });

  const file = filePart(WAVE);
  const raw = (head: string, body: string | Buffer = WAVE): RawPart => ({ head, body });
  const type = 'Content-Type: audio/wav';
  const plain = 'Content-Disposition: form-data; name="file"; filename="a.wav"';

  it.each(
    (
      [
        ['A02 without a file', [model]],
        ['A22', [file, model], undefined, 'multipart/form-data'],
        ['A23 long', [file, model], undefined, `multipart/form-data; boundary=${'b'.repeat(71)}`],
        ['A23 empty', [file, model], undefined, 'multipart/form-data; boundary='],
        ['A23 quoted', [file, model], undefined, 'multipart/form-data; boundary="a\tb"'],
        ['another boundary', [file, model], undefined, 'multipart/form-data; boundary=other'],
        ['A24', [file, model], ''],
        ['A24 cut', [file, model], `--${BOUNDARY}`],
        ['A25', [filePart(WAVE, ''), model]],
        ['A26', [file, model, fieldPart('', 'x')]],
        ['A26 nameless', [file, model, raw('Content-Disposition: form-data', 'x')]],
        ['A27', [model], `--${BOUNDARY}\r\n${plain}\r\n--${BOUNDARY}--\r\n`],
        ['A28 two', [file, file, model]],
        ['A28 elsewhere', [raw('Content-Disposition: form-data; name="audio"; filename="a.wav"'), model]],
        ['A28 text', [fieldPart('file', 'x'), model]],
        ['A29', [file, model, ...Array.from({ length: 20 }, (_, i) => fieldPart(`x${i}`, ''))]],
        ['A29 empty parts', [file, model], `--${BOUNDARY}\r\n`.repeat(10_000)],
        ['A30', [raw(`${plain}\r\nX-Long: ${'x'.repeat(64 * 1024)}`), model]],
        ['A30 many', [raw([plain, ...Array.from({ length: 1_000 }, (_, i) => `X-${i}: x`)].join('\r\n')), model]],
        ['A31 NUL', [raw(`Content-Disposition: form-data; name="file"; filename="a\0.wav"\r\n${type}`), model]],
        ['A31 long', [filePart(WAVE, `${'a'.repeat(10_240)}.wav`), model]],
        [
          'A31 escape',
          [raw(`Content-Disposition: form-data; name="file"; filename*=utf-8''%zz.wav\r\n${type}`), model],
        ],
        ['A32', [file, model, fieldPart('language', 'x'.repeat(1024 * 1024))]],
        ['A33 list', [file, fieldPart('model[]', 'test/speech')]],
        ['A33 prototype', [file, fieldPart('model[__proto__]', 'test/speech')]],
        ['A33 doubled', [file, model, model]],
        ['A34', [filePart(Buffer.alloc(0)), model]],
        ['A37', [filePart(Buffer.from('<html>'), 'a.wav', 'text/html'), model]],
        ['A37 by type', [filePart(WAVE, 'a', 'text/html'), model]],
        ['A38', [raw(`${plain}\r\nContent-Transfer-Encoding: base64`), model]],
        ['A39', [raw(`${plain}\r\nContent-Type: multipart/mixed; boundary=x`), model]],
        ['A40', [], JSON.stringify(ONE)],
        ['no parts', []],
        ['broken UTF-8', [file, model, raw('Content-Disposition: form-data; name="user"', Buffer.from([0xc0, 0xaf]))]],
        ['A14 text', [file, model, fieldPart('response_format', 'text')]],
        ['A16 text', [file, model, fieldPart('temperature', 'warm')]],
        ['A20', [file, model, fieldPart('diarize', 'yes')]],
        ['trace', [file, model, fieldPart('trace', '{')]],
      ] as [string, readonly RawPart[], string?, string?][]
    ).map(([name, ...form]) => [name, form] as const),
  )('refuses %s of a form', async (_name, [parts, ending, contentType]) => {
    const response = await postForm(parts, ending, contentType);
    expect({ status: response.status, body: await response.text() }).toMatchObject({ status: 400 });
    expect(app.upstreamCalls).toHaveLength(0);
  });

  it('takes what clients write: blanks, names outside ASCII, lists under either name', async () => {
    const response = await postForm(
      [
        raw(
          "Content-Disposition: form-data;  name=file;  filename*=UTF-8''%E2%82%AC.wav\r\nContent-Type: application/octet-stream",
        ),
        fieldPart('model', 'test/verbose'),
        fieldPart('response_format', 'verbose_json'),
        fieldPart('timestamp_granularities[]', 'word'),
        fieldPart('timestamp_granularities', 'segment'),
        fieldPart('language', ''),
        fieldPart('__proto__', 'x'),
      ],
      `--${BOUNDARY}-- \r\n`,
    );
    expect({ status: response.status, body: await response.text() }).toMatchObject({ status: 200 });
    const sent = readSent(app.upstreamCalls[0]!).text;
    expect(sent.match(/timestamp_granularities\[\]/g)).toHaveLength(2);
  });
});
