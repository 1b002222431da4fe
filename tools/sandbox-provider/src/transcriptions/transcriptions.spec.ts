import { SandboxClient, type JsonAnswer } from '../testing/sandbox-client';
import { answerTranscription } from './transcriptions';

const PATH = '/v1/audio/transcriptions';

interface WaveOptions {
  readonly encoding?: 1 | 3 | 6;
  readonly bits?: number;
  readonly channels?: number;
  readonly rate?: number;
  readonly isExtensible?: boolean;
  readonly dataSize?: number;
}

/** A WAVE file of silence. */
function wave(seconds: number, options: WaveOptions = {}): Buffer {
  const { encoding = 1, bits = 16, channels = 1, rate = 16_000, isExtensible = false } = options;
  const block = (channels * bits) / 8;
  const data = Buffer.alloc(Math.round(seconds * rate) * block);
  const format = Buffer.alloc(isExtensible ? 40 : 16);
  format.writeUInt16LE(isExtensible ? 0xfffe : encoding, 0);
  format.writeUInt16LE(channels, 2);
  format.writeUInt32LE(rate, 4);
  format.writeUInt32LE(rate * block, 8);
  format.writeUInt16LE(block, 12);
  format.writeUInt16LE(bits, 14);
  if (isExtensible) format.writeUInt16LE(encoding, 24);
  const chunk = (name: string, body: Buffer, size = body.length): Buffer => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(size, 4);
    return Buffer.concat([head, body]);
  };
  const oddChunk = Buffer.concat([chunk('LIST', Buffer.from('abc')), Buffer.alloc(1)]);
  const body = Buffer.concat([
    Buffer.from('WAVE'),
    oddChunk,
    chunk('fmt ', format),
    chunk('data', data, options.dataSize),
  ]);
  return chunk('RIFF', body);
}

describe(answerTranscription.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start();
  });

  afterAll(() => client.close());

  const transcribe = (bytes: Buffer, fields: Record<string, string> = {}): Promise<JsonAnswer> => {
    const form = new FormData();
    form.set('model', 'sandbox-transcription');
    form.set('file', new Blob([new Uint8Array(bytes)]), 'audio.wav');
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    return client.form(PATH, form);
  };

  it('hears what is said in its own recording, and when', async () => {
    const recording = Buffer.from(await (await client.fetch('/sandbox/recording.wav')).arrayBuffer());
    const fields = { response_format: 'verbose_json', 'timestamp_granularities[]': 'word' };
    const { body } = await transcribe(recording, fields);
    expect(body).toMatchObject({
      text: '[sandbox] SLUICE CAN HEAR YOU',
      duration: 12.375,
      words: [
        { word: 'SLUICE', start: 0, end: 3.825 },
        { word: 'CAN', start: 4.35, end: 6.375 },
        { word: 'HEAR', start: 6.9, end: 9.075 },
        { word: 'YOU', start: 9.6, end: 12.375 },
      ],
      usage: { type: 'duration', seconds: 13 },
    });
    recording.writeUInt8(0, recording.length - 1);
    expect((await transcribe(recording)).body.text).toBe('[sandbox] 12.4 s of audio');
  });

  it.each<WaveOptions>([
    { bits: 8 },
    { bits: 16, rate: 8_000 },
    { bits: 24, channels: 2 },
    { bits: 32, rate: 44_100 },
    { encoding: 3, bits: 32, rate: 48_000 },
    { encoding: 3, bits: 64 },
    { encoding: 6, bits: 8 },
    { bits: 16, isExtensible: true },
    { dataSize: 0xffffffff },
  ])('says how long any other recording is: %j', async (options) => {
    const { body } = await transcribe(wave(1.5, options));
    expect(body).toEqual({ text: '[sandbox] 1.5 s of audio', usage: { type: 'duration', seconds: 2 } });
  });

  it('gives segments and words with their times', async () => {
    const fields = { response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' };
    const { body } = await transcribe(wave(2), fields);
    expect(body).toMatchObject({
      task: 'transcribe',
      duration: 2,
      segments: [{ id: 0, start: 0, end: 2, text: '2.0 s of audio' }],
    });
    expect(body).not.toHaveProperty('words');
    const words = await transcribe(wave(2), { ...fields, 'timestamp_granularities[]': 'word' });
    expect(words.body.words.map((entry: JsonAnswer['body']) => entry.word)).toEqual(['2.0', 's', 'of', 'audio']);
    expect(words.body.words.at(-1)).toMatchObject({ start: 1.5, end: 2 });
    expect(words.body).not.toHaveProperty('segments');
  });

  it('answers plain text', async () => {
    const form = new FormData();
    form.set('model', 'm');
    form.set('response_format', 'text');
    form.set('file', new Blob([new Uint8Array(wave(1))]), 'a.wav');
    const response = await client.fetch(PATH, { method: 'POST', body: form });
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toBe('[sandbox] 1.0 s of audio\n');
  });

  it('says that it does not know the length of other formats', async () => {
    const { body } = await transcribe(Buffer.from('ID3 is how an mp3 file may begin'));
    expect(body.text).toBe('[sandbox] duration unknown: not a WAVE file');
    expect(body.usage.type).toBe('tokens');
  });

  it('takes behaviours from the model name', async () => {
    expect((await transcribe(wave(1), { model: 'm?status=503' })).status).toBe(503);
  });

  it.each([
    ['a WAVE file without data', wave(0.1).subarray(0, 50), {}],
    ['a WAVE file cut in its header', wave(0.1).subarray(0, 14), {}],
    ['a WAVE file whose header contradicts itself', wave(0.1, { channels: 0 }), {}],
    ['an empty file', Buffer.alloc(0), {}],
    ['an unknown format', wave(0.1), { response_format: 'yaml' }],
    ['an unknown granularity', wave(0.1), { response_format: 'verbose_json', 'timestamp_granularities[]': 'letter' }],
    ['granularities of another format', wave(0.1), { 'timestamp_granularities[]': 'word' }],
    ['an empty model', wave(0.1), { model: '' }],
  ])('refuses %s', async (_, bytes, fields) => {
    const { status, body } = await transcribe(bytes, fields);
    expect(status).toBe(400);
    expect(body.error.type).toBe('invalid_request_error');
  });

  it('refuses a body that is no form, and a form without a file', async () => {
    expect((await client.post(PATH, { model: 'm' })).status).toBe(400);
    const form = new FormData();
    form.set('model', 'm');
    expect((await client.form(PATH, form)).body.error.param).toBe('file');
  });
});
