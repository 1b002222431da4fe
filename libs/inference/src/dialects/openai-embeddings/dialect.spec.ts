import type { AppError } from '@libs/errors';
import fc from 'fast-check';
import { LossLog } from '../../model/loss-report';
import { leftChargeOf, type LeftCharge } from '../../model/left-charge';
import { parseRate } from '../../pricing/money';
import { aModel, anEndpoint } from '../../testing';
import type { AnswerContext } from '../dialect';
import type { Endpoint } from '../../catalogue/catalogue';
import type { PriceList } from '../../pricing/price';
import { leftEmbeddings, openAiEmbeddings } from './dialect';
import { longestInputTokens } from './inputs';

const endpoint = anEndpoint({ contextLength: 8_000 });

const context = (request: object): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from(JSON.stringify(request)),
});

const read = (answer: object | string, request: object = { input: ['a', 'b'] }) => {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const result = openAiEmbeddings.readAnswer(Buffer.from(text), context(request));
  return { ...result, json: JSON.parse(result.body.toString()) as Record<string, never> };
};

const SECOND = Buffer.alloc(44 + 16_000).toString('base64');
const MEDIA = {
  audio: { type: 'input_audio', input_audio: { data: SECOND, format: 'wav' } },
  image: { type: 'image_url', image_url: { url: `data:image/png;base64,${SECOND}` } },
  video: { type: 'input_video', input_video: { data: SECOND, format: 'mp4' } },
};

/** What is charged for an answer that is refused. */
const charged = (reading: () => unknown): LeftCharge | undefined => {
  try {
    reading();
  } catch (thrown) {
    return leftChargeOf(thrown as AppError);
  }
  throw new Error('It was not refused');
};

const item = (index: number | undefined, embedding: unknown = [0.5, -0.5]): object => ({
  object: 'embedding',
  index,
  embedding,
});
const anAnswer = (data: unknown, usage: unknown = { prompt_tokens: 8, total_tokens: 8 }): object => ({
  object: 'list',
  data,
  model: 'acme-embed',
  usage,
});
const floats = (...values: number[]): string => Buffer.from(new Float32Array(values).buffer).toString('base64');
const unavailable = expect.objectContaining({ code: 'provider_unavailable', retryable: true }) as Error;

describe('an embeddings request for an OpenAI-speaking upstream', () => {
  it('names the upstream model, hashes the user and loses what is ours', () => {
    const body = '{"model":"m","input":["\\u00e9"],"provider":{"allow_fallbacks":true},"user":"anna","dimensions":2}';
    const sent = openAiEmbeddings.toUpstream(Buffer.from(body), endpoint, false).toString();
    expect(sent).toMatch(/^\{"model":"acme-large-2026","input":\["\\u00e9"\],"user":"[0-9a-f]{64}","dimensions":2\}$/);
  });

  it('names what the gateway does on other APIs only', () => {
    const asked = {
      plugins: [{ id: 'web' }],
      debug: { echo_upstream_body: true },
      cache_control: { type: 'ephemeral' },
    };
    const body = Buffer.from(JSON.stringify({ model: 'm', input: 'a', ...asked, stop_server_tools_when: null }));
    const log = new LossLog();
    expect(JSON.parse(openAiEmbeddings.toUpstream(body, endpoint, false, log).toString())).toEqual({
      model: 'acme-large-2026',
      input: 'a',
    });
    expect(log.report().dropped).toEqual(['plugins', 'debug', 'cache_control']);
  });
});

describe('an embeddings request for a model with limits', () => {
  const sentTo = (embeddings: object, body: object): string =>
    openAiEmbeddings
      .toUpstream(
        Buffer.from(JSON.stringify({ model: 'm', input: 'a', ...body })),
        anEndpoint({ capabilities: { embeddings } }),
        false,
      )
      .toString();

  it('keeps the input type unless the catalogue says that it is refused', () => {
    expect(sentTo({}, { input_type: 'query' })).toContain('"input_type":"query"');
    const refuses = ['input_type', 'user', 'encoding_format'];
    const members = { input_type: 'query', user: 'anna', encoding_format: 'float' };
    expect(sentTo({ refuses, sets: { truncation: false } }, members)).toBe(
      '{"model":"acme-large-2026","input":"a","truncation":false}',
    );
  });

  it.each([
    [{}, 7, '"dimensions":7'],
    [{ dimensions: [256, 512] }, 512, '"dimensions":512'],
    [{ dimensions: [256], dimensions_member: 'output_dimension' }, 256, '"output_dimension":256'],
    [{ dimensions: false }, null, ''],
    [{}, null, ''],
  ])('passes the dimensions that %j allows', (embeddings, dimensions, sent) => {
    const body = sentTo(embeddings, { dimensions });
    expect(body).toBe(`{"model":"acme-large-2026","input":"a"${sent && `,${sent}`}}`);
  });

  it.each([
    [{ dimensions: [256, 512] }, 'dimensions must be one of 256, 512 for this model'],
    [{ dimensions: false }, 'dimensions cannot be chosen for this model'],
  ])('refuses the dimensions that %j does not allow', (embeddings, message) => {
    expect(() => sentTo(embeddings, { dimensions: 300 })).toThrow(
      expect.objectContaining({ code: 'invalid_request', message, metadata: { param: 'dimensions' } }) as Error,
    );
  });
});

describe('an embeddings answer of an OpenAI-speaking upstream', () => {
  it('carries our id and model, and the cost', () => {
    const { json, usage, cost } = read(anAnswer([item(0), item(1)]));
    expect(json).toMatchObject({
      object: 'list',
      id: 'gen-1-abc',
      model: 'acme/large',
      provider: 'Acme',
      data: [item(0), item(1)],
      usage: { prompt_tokens: 8, total_tokens: 8, cost: 0.000008, is_byok: false },
    });
    expect(json['usage']).not.toHaveProperty('completion_tokens');
    expect(usage).toMatchObject({ promptTokens: 8, completionTokens: 0, totalTokens: 8, provenance: 'upstream' });
    expect(cost.totalCost).toBe(8_000_000n);
  });

  it('keeps the bytes of the vectors', () => {
    const text = '{"data":[{"embedding":[1.0e-05,-0.00,2],"index":0}],"usage":{"prompt_tokens":1,"total_tokens":1}}';
    expect(read(text, { input: 'a' }).body.toString()).toContain('[1.0e-05,-0.00,2]');
  });

  it.each([
    ['a string', { input: 'abc' }, 1],
    ['token ids', { input: [1, 2, 3] }, 1],
    ['lists of token ids', { input: [[1, 2], [3]] }, 2],
    ['parts', { input: [{ content: [{ type: 'text', text: 'a' }] }] }, 1],
    ['the same string twice', { input: ['a', 'a'] }, 2],
  ])('holds one item per input: %s', (_what, request, inputs) => {
    const items = Array.from({ length: inputs }, (_, i) => item(i));
    expect(read(anAnswer(items), request).json['data']).toHaveLength(inputs);
    expect(() => read(anAnswer([...items, item(inputs)]), request)).toThrow(unavailable);
    expect(() => read(anAnswer(items.slice(1)), request)).toThrow(unavailable);
  });

  it('gets the index that the upstream left out', () => {
    expect(read(anAnswer([item(undefined), item(undefined)])).json['data']).toEqual([item(0), item(1)]);
  });

  it('gets the types of objects that the upstream left out', () => {
    const { json } = read({ data: [{ index: 0, embedding: [1] }, { embedding: [2] }] });
    expect(json).toMatchObject({ object: 'list', data: [item(0, [1]), item(1, [2])] });
  });

  it('may hold vectors as base64', () => {
    const data = [item(0, floats(0.5, -1)), item(1, floats(0, 3e38))];
    const request = { input: ['a', 'b'], dimensions: 2, encoding_format: 'base64' };
    expect(read(anAnswer(data), request).json['data']).toEqual(data);
  });

  const float32 = fc.float({ noNaN: true, noDefaultInfinity: true });
  const vectorIn = (answer: { json: Record<string, unknown> }): unknown =>
    (answer.json['data'] as { embedding: unknown }[])[0]!.embedding;

  it('holds numbers as base64 where that was asked for, float by float', () => {
    fc.assert(
      fc.property(fc.array(float32, { minLength: 1 }), (vector) => {
        const request = { input: 'a', encoding_format: 'base64', dimensions: vector.length };
        const bytes = Buffer.from(vectorIn(read(anAnswer([item(0, vector)]), request)) as string, 'base64');
        expect(bytes).toHaveLength(4 * vector.length);
        expect(vector.map((_, i) => bytes.readFloatLE(4 * i) + 0)).toEqual(vector.map((value) => value + 0));
      }),
    );
  });

  it.each([{}, { encoding_format: 'float' }])('holds base64 as numbers where %j was asked for', (format) => {
    fc.assert(
      fc.property(fc.array(float32, { minLength: 1 }), (vector) => {
        const answer = read(anAnswer([item(0, floats(...vector))]), { input: 'a', ...format });
        expect(vectorIn(answer)).toEqual(vector.map((value) => value + 0));
      }),
    );
  });

  it('is refused as base64 with a number that no 32-bit float can hold', () => {
    expect(() => read(anAnswer([item(0, [1e39])]), { input: 'a', encoding_format: 'base64' })).toThrow(unavailable);
    expect(vectorIn(read(anAnswer([item(0, [1e39])]), { input: 'a' }))).toEqual([1e39]);
  });

  it('passes on what its prompt was made of, and prices pictures as such', () => {
    const priced = anEndpoint({
      pricing: { prompt: parseRate('0.000001'), completion: 0n, imageToken: parseRate('0.00001') },
    });
    const details = { text_tokens: 2, image_tokens: 6 };
    const usage = { prompt_tokens: 8, total_tokens: 8, prompt_tokens_details: details };
    const answer = openAiEmbeddings.readAnswer(Buffer.from(JSON.stringify(anAnswer([item(0)], usage))), {
      ...context({ input: 'a' }),
      endpoint: priced,
    });
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      usage: { prompt_tokens: 8, prompt_tokens_details: details, cost: 0.000062 },
    });
    expect(answer.cost.totalCost).toBe(62_000_000n);
  });

  it.each([
    ['items out of order', [item(1), item(0)]],
    ['an item twice', [item(0), item(0)]],
    ['an index that is no number', [item(0), { ...item(1), index: '1' }]],
    ['an empty vector', [item(0), item(1, [])]],
    ['no vector', [item(0), { index: 1 }]],
    ['a hole in a vector', [item(0), item(1, [0.5, null])]],
    ['words in a vector', [item(0), item(1, ['0.5', '1'])]],
    ['vectors of two lengths', [item(0), item(1, [0.5])]],
    ['an empty text', [item(0, ''), item(1, '')]],
    ['a text that is no base64', [item(0, '!!!!'), item(1, '!!!!')]],
    ['half a float', [item(0, 'AAAAAAA='), item(1, 'AAAAAAA=')]],
    ['NaN as base64', [item(0, floats(1, Number.NaN)), item(1, floats(1, 2))]],
    ['an infinity as base64', [item(0, floats(1, -Infinity)), item(1, floats(1, 2))]],
    ['no items', []],
    ['no list', { 0: item(0) }],
    ['items that are no objects', [null, 7]],
  ])('is refused with %s', (_what, data) => {
    expect(() => read(anAnswer(data))).toThrow(unavailable);
  });

  it.each(['[NaN,1]', '[Infinity,1]', '[1e999,1]', '[1,', '[-,1]'])('is refused with the vector %s', (vector) => {
    expect(() => read(`{"data":[{"index":0,"embedding":${vector}}]}`, { input: 'a' })).toThrow(unavailable);
  });

  it('is refused with vectors of several lengths', () => {
    expect(() => read(anAnswer([item(0), item(1, [0.5])]), { input: ['a', 'b'], dimensions: 2 })).toThrow(unavailable);
  });

  it('is refused and charged where all vectors have another length than the caller asked for', () => {
    const asked = () => read(anAnswer([item(0), item(1)]), { input: ['a', 'b'], dimensions: 3 });
    expect(asked).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: 'dimensions: this model makes vectors of 2 numbers only',
        metadata: { param: 'dimensions' },
      }) as Error,
    );
    const charge = charged(asked);
    expect(charge?.usage).toMatchObject({ promptTokens: 8, provenance: 'upstream' });
  });

  it('is billed by the total where there is no other count', () => {
    const { usage, json } = read(anAnswer([item(0), item(1)], { total_tokens: 8 }));
    expect(usage).toMatchObject({ promptTokens: 8, totalTokens: 8, provenance: 'upstream' });
    expect(json['usage']).toMatchObject({ prompt_tokens: 8, total_tokens: 8 });
  });

  it('is an error also next to vectors, which may not be all', () => {
    const error = { code: 429, message: 'slow' };
    const whole = anAnswer([item(0), item(1)], { total_tokens: 8 });
    expect(() => read({ ...whole, error })).toThrow(expect.objectContaining({ code: 'rate_limit_exceeded' }) as Error);
    for (const none of [null, '', {}]) expect(read({ ...whole, error: none }).usage.promptTokens).toBe(8);
  });

  it('is an error when it says so', () => {
    expect(() => read({ error: { code: 429, message: 'slow' } })).toThrow(
      expect.objectContaining({ code: 'rate_limit_exceeded' }) as Error,
    );
  });

  it.each([
    [undefined, 3],
    [{}, 3],
    [{ prompt_tokens: -1, total_tokens: -1 }, 3],
    [{ prompt_tokens: 1e15, total_tokens: 1e15 }, 16_000],
  ])('is billed by a bounded, marked estimate for the usage %j', (reported, promptTokens) => {
    const answer = { ...anAnswer([item(0), item(1)]), usage: reported };
    const { usage, json } = read(answer, { input: ['four', 'more'] });
    expect(usage).toMatchObject({ promptTokens, completionTokens: 0, provenance: 'estimated' });
    expect(json['usage']).toMatchObject({ prompt_tokens: promptTokens, total_tokens: promptTokens });
  });
});

describe(longestInputTokens.name, () => {
  it.each([
    ['four bytes of text as a token', 'x'.repeat(400), 100],
    ['the longest text, not the sum', ['x'.repeat(40), 'x'.repeat(400), 'x'], 100],
    ['token ids', [1, 2, 3], 3],
    ['the longest list of token ids', [[1], [1, 2, 3]], 3],
    ['a picture like a page', [{ content: [{ type: 'image_url' }, { type: 'text', text: 'x'.repeat(40) }] }], 1_010],
    ['nothing for what is no input', null, 0],
  ])('counts %s', (_what, input, tokens) => {
    expect(longestInputTokens({ input })).toBe(tokens);
  });
});

describe('media in an embeddings request', () => {
  const rates = { prompt: parseRate('0.000001'), completion: 0n };
  const dear = endpointOf({
    ...rates,
    audio: parseRate('0.00001'),
    imageToken: parseRate('0.00002'),
    videoToken: parseRate('0.00003'),
  });
  const inputOf = (kind: keyof typeof MEDIA) => ({ input: [{ content: [MEDIA[kind]] }] });
  const costOf = (kind: keyof typeof MEDIA, details: object): number => {
    const usage = { prompt_tokens: 100, total_tokens: 100, ...details };
    const asked = { ...context(inputOf(kind)), endpoint: dear };
    const { cost } = openAiEmbeddings.readAnswer(Buffer.from(JSON.stringify(anAnswer([item(0)], usage))), asked);
    return Number(cost.totalCost) / 1e12;
  };

  it.each([
    ['audio', 'audio_tokens', 0.001],
    ['image', 'image_tokens', 0.002],
    ['video', 'video_tokens', 0.003],
  ] as const)('cost the rate of their kind, counted or not: %s', (kind, name, usd) => {
    expect(costOf(kind, { prompt_tokens_details: { [name]: 100 } })).toBeCloseTo(usd, 9);
    expect(costOf(kind, {})).toBeCloseTo(usd, 9);
    // As counted: 40 tokens of the kind, and 60 of text.
    const share = (usd * 40) / 100 + 0.00006;
    expect(costOf(kind, { prompt_tokens_details: { [name]: 40 } })).toBeCloseTo(share, 9);
  });

  it.each(['audio', 'image', 'video'] as const)('cost the rate of their kind after the caller left: %s', (kind) => {
    const { usage, cost } = leftEmbeddings({ ...context(inputOf(kind)), endpoint: dear });
    expect(Number(cost.totalCost) / 1e12 / usage.promptTokens).toBeGreaterThan(0.000009);
  });
});

function endpointOf(pricing: PriceList): Endpoint {
  return anEndpoint({ contextLength: 8_000, pricing });
}
