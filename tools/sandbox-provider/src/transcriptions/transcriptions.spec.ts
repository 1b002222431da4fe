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

/** Seconds and frequency of each stretch; frequency 0 is silence, a negative one is noise. */
type Stretch = readonly [seconds: number, frequencyHz: number];

function samplesOf(stretches: readonly Stretch[], rate: number): number[] {
  let seed = 1;
  const noise = (): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed / 0x40000000 - 1;
  };
  return stretches.flatMap(([seconds, frequency]) =>
    Array.from({ length: Math.round(seconds * rate) }, (_, index) =>
      frequency < 0 ? noise() * 0.5 : 0.5 * Math.sin((2 * Math.PI * frequency * index) / rate),
    ),
  );
}

function writeSample(bytes: Buffer, at: number, sample: number, encoding: number, bits: number): void {
  if (encoding === 3 && bits === 32) bytes.writeFloatLE(sample, at);
  else if (encoding === 3) bytes.writeDoubleLE(sample, at);
  else if (bits === 8) bytes.writeUInt8(Math.round(sample * 127) + 128, at);
  else bytes.writeIntLE(Math.round(sample * (2 ** (bits - 1) - 1)), at, bits / 8);
}

function wave(stretches: readonly Stretch[], options: WaveOptions = {}): Buffer {
  const { encoding = 1, bits = 16, channels = 1, rate = 16_000, isExtensible = false } = options;
  const block = (channels * bits) / 8;
  const samples = samplesOf(stretches, rate);
  const data = Buffer.alloc(samples.length * block);
  samples.forEach((sample, index) => {
    for (let channel = 0; channel < channels; channel += 1) {
      writeSample(data, index * block + (channel * bits) / 8, sample, encoding === 6 ? 1 : encoding, bits);
    }
  });
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

  it('names the tones and silences it hears', async () => {
    const { body } = await transcribe(
      wave([
        [1, 440],
        [0.5, 0],
        [2, 880],
        [1, 660],
      ]),
    );
    expect(body).toEqual({
      text: '[sandbox] tone 440 Hz 1.0 s, silence 0.5 s, tone 880 Hz 2.0 s, tone 660 Hz 1.0 s',
      usage: { type: 'duration', seconds: 5 },
    });
  });

  it.each<WaveOptions>([
    { bits: 8 },
    { bits: 16, rate: 8_000 },
    { bits: 24, channels: 2 },
    { bits: 32, rate: 44_100 },
    { encoding: 3, bits: 32, rate: 48_000 },
    { encoding: 3, bits: 64 },
    { bits: 16, isExtensible: true },
    { dataSize: 0xffffffff },
  ])('reads the encoding %j', async (options) => {
    const { body } = await transcribe(
      wave(
        [
          [0.7, 1_000],
          [0.3, 0],
        ],
        options,
      ),
    );
    expect(body.text).toBe('[sandbox] tone 1000 Hz 0.7 s, silence 0.3 s');
  });

  it('does not take noise for a tone', async () => {
    expect(
      (
        await transcribe(
          wave([
            [0.5, -1],
            [0.5, 0],
          ]),
        )
      ).body.text,
    ).toBe('[sandbox] sound 0.5 s, silence 0.5 s');
  });

  it('gives segments and words with their times', async () => {
    const fields = { response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' };
    const { body } = await transcribe(
      wave([
        [1, 500],
        [1, 0],
      ]),
      fields,
    );
    expect(body).toMatchObject({
      task: 'transcribe',
      duration: 2,
      segments: [
        { id: 0, start: 0, end: 1, text: 'tone 500 Hz 1.0 s' },
        { id: 1, start: 1, end: 2, text: 'silence 1.0 s', no_speech_prob: 0.99 },
      ],
    });
    expect(body).not.toHaveProperty('words');
    const words = await transcribe(wave([[1, 500]]), { ...fields, 'timestamp_granularities[]': 'word' });
    expect(words.body.words.map((entry: JsonAnswer['body']) => entry.word)).toEqual(['tone', '500', 'Hz', '1.0', 's']);
    expect(words.body.words.at(-1)).toMatchObject({ start: 0.8, end: 1 });
    expect(words.body).not.toHaveProperty('segments');
  });

  it('answers plain text', async () => {
    const form = new FormData();
    form.set('model', 'm');
    form.set('response_format', 'text');
    form.set('file', new Blob([new Uint8Array(wave([[1, 0]]))]), 'a.wav');
    const response = await client.fetch(PATH, { method: 'POST', body: form });
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toBe('[sandbox] silence 1.0 s\n');
  });

  it('says that it does not know the length of other formats', async () => {
    const { body } = await transcribe(Buffer.from('ID3 is how an mp3 file may begin'));
    expect(body.text).toBe('[sandbox] duration unknown: not a WAVE file');
    expect(body.usage.type).toBe('tokens');
  });

  it('knows the length of a WAVE file whose samples it cannot read', async () => {
    const { body } = await transcribe(wave([[1.5, 440]], { encoding: 6, bits: 8 }));
    expect(body.text).toBe('[sandbox] 1.5 s of audio in an encoding that is not read');
  });

  it('takes behaviours from the model name', async () => {
    expect((await transcribe(wave([[1, 0]]), { model: 'm?status=503' })).status).toBe(503);
  });

  it.each([
    ['a WAVE file without data', wave([[0.1, 0]]).subarray(0, 50), {}],
    ['a WAVE file cut in its header', wave([[0.1, 0]]).subarray(0, 14), {}],
    ['a WAVE file whose header contradicts itself', wave([[0.1, 0]], { channels: 0 }), {}],
    ['an empty file', Buffer.alloc(0), {}],
    ['an unknown format', wave([[0.1, 0]]), { response_format: 'yaml' }],
    [
      'an unknown granularity',
      wave([[0.1, 0]]),
      { response_format: 'verbose_json', 'timestamp_granularities[]': 'letter' },
    ],
    ['granularities of another format', wave([[0.1, 0]]), { 'timestamp_granularities[]': 'word' }],
    ['an empty model', wave([[0.1, 0]]), { model: '' }],
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
