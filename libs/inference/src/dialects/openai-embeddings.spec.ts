import { aModel, anEndpoint } from '../testing';
import type { AnswerContext } from './dialect';
import { openAiEmbeddings } from './openai-embeddings';

const endpoint = anEndpoint({ contextLength: 8_000 });

const context = (request: object): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  requestBody: Buffer.from(JSON.stringify(request)),
});

const read = (answer: object | string, request: object = { input: ['a', 'b'] }) => {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const result = openAiEmbeddings.readAnswer(Buffer.from(text), context(request));
  return { ...result, json: JSON.parse(result.body.toString()) as Record<string, never> };
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

  it('may hold vectors as base64', () => {
    const data = [item(0, floats(0.5, -1)), item(1, floats(0, 3e38))];
    expect(read(anAnswer(data), { input: ['a', 'b'], dimensions: 2 }).json['data']).toEqual(data);
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

  it('is refused with vectors shorter than asked for', () => {
    expect(() => read(anAnswer([item(0), item(1)]), { input: ['a', 'b'], dimensions: 3 })).toThrow(unavailable);
  });

  it('is an error when it says so', () => {
    expect(() => read({ error: { code: 429, message: 'slow' } })).toThrow(
      expect.objectContaining({ code: 'rate_limit_exceeded' }) as Error,
    );
  });

  it.each([
    [undefined, 2],
    [{ prompt_tokens: -1, total_tokens: -1 }, 2],
    [{ prompt_tokens: 1e15, total_tokens: 1e15 }, 16_000],
  ])('is billed by a bounded, marked estimate for the usage %j', (reported, promptTokens) => {
    const answer = { ...anAnswer([item(0), item(1)]), usage: reported };
    const { usage, json } = read(answer, { input: ['four', 'more'] });
    expect(usage).toMatchObject({ promptTokens, completionTokens: 0, provenance: 'estimated' });
    expect(json['usage']).toMatchObject({ prompt_tokens: promptTokens, total_tokens: promptTokens });
  });
});
