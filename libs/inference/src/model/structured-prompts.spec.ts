import fc from 'fast-check';
import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { waveFile } from '../testing/recordings';
import { estimatePromptTokens } from './estimate';

const ENGLISH = 'The quick brown fox jumps over the lazy dog, and writes a long report about rivers. ';
const PICTURE = `data:image/png;base64,${ENGLISH.repeat(300)}`;

/** 1,024 × 1,024 pixels of noise. */
const REAL_PICTURE = `iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAYAAAAf${'A'.repeat(400_000)}`;
const REAL_SOUND = waveFile(18).toString('base64');

/** A tokenizer takes time in the square of what has no spaces. */
const PIECE = /[^]{1,400}/g;

function realTokens(value: unknown): number {
  const pieces = JSON.stringify(value).match(PIECE) ?? [];
  const count = (encode: (text: string) => readonly number[]): number =>
    pieces.reduce((sum, piece) => sum + encode(piece).length, 0);
  return Math.max(count(encodeO200k), count(encodeCl100k));
}

const user = { role: 'user', content: 'hi' };
const called = (input: unknown): object => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id: 't', name: 'f', input }],
});

/** Where JSON of the caller's own reaches the model as text. */
const PLACES: Readonly<Record<string, (json: unknown) => object>> = {
  'the schema of a tool': (parameters) => ({
    messages: [user],
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
  }),
  'the schema of an answer': (schema) => ({
    messages: [user],
    response_format: { type: 'json_schema', json_schema: { name: 's', schema } },
  }),
  'the schema of a response': (schema) => ({
    input: 'hi',
    text: { format: { type: 'json_schema', name: 's', schema } },
  }),
  'the input of a tool': (input) => ({ max_tokens: 10, messages: [user, called(input)] }),
};

const VALUES: Readonly<Record<string, unknown>> = {
  'empty objects and lists': { default: Array.from({ length: 20_000 }, (_, i) => (i % 3 === 0 ? [] : {})) },
  fractions: { values: Array.from({ length: 2_000 }, (_, i) => Math.sin(i + 1)) },
  'long integers': { enum: Array.from({ length: 2_000 }, (_, i) => 1_000_000_000_000 + i * 7_919) },
  'short integers': { enum: Array.from({ length: 2_000 }, (_, i) => 100_000 + i * 79) },
  literals: { enum: Array.from({ length: 2_000 }, (_, i) => (i % 2 === 0 ? true : null)) },
  'short names': Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [i.toString(36), 1])),
  'text behind the name and head of a picture': { examples: [{ image_url: PICTURE }, { image_url: { url: PICTURE } }] },
  'text behind the name of base64': { default: { source: { type: 'base64', data: ENGLISH.repeat(300) } } },
  'text behind the name of sound': { default: { input_audio: { data: ENGLISH.repeat(300) } } },
  'text behind the name of a file': [[{ file: { file_data: PICTURE } }]],
  'text behind the name of a signature': { signature: ENGLISH.repeat(300), encrypted_content: ENGLISH.repeat(300) },
};

describe('JSON that a model reads as text', () => {
  const cases = Object.keys(PLACES).flatMap((place) => Object.keys(VALUES).map((value) => [value, place] as const));

  it.each(cases)('counts %s in %s', (value, place) => {
    const json = VALUES[value];
    const body = Buffer.from(JSON.stringify({ model: 'm', ...PLACES[place]!(json) }));
    expect(estimatePromptTokens(body) / realTokens(json)).toBeGreaterThanOrEqual(0.6);
  });

  it('is never estimated below 0.6 of its tokens, whatever it is', () => {
    const anyJson = fc.array(fc.jsonValue({ maxDepth: 4 }), { minLength: 20, maxLength: 60 });
    fc.assert(
      fc.property(anyJson, fc.constantFrom(...Object.values(PLACES)), (json, place) => {
        const body = Buffer.from(JSON.stringify({ model: 'm', ...place({ json }) }));
        expect(estimatePromptTokens(body)).toBeGreaterThanOrEqual(0.6 * realTokens({ json }));
      }),
      { numRuns: 300 },
    );
  });

  it('counts ids of tokens as they are, one each', () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => 50_000 + i);
    for (const input of [ids, [ids]]) {
      const estimate = estimatePromptTokens(Buffer.from(JSON.stringify({ model: 'm', input })));
      expect(estimate).toBeGreaterThanOrEqual(1_000);
      expect(estimate).toBeLessThan(1_010);
    }
  });

  it.each([
    ['an image', { content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${REAL_PICTURE}` } }] }],
    [
      'a source',
      { content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: REAL_PICTURE } }] },
    ],
    ['a sound', { content: [{ type: 'input_audio', input_audio: { format: 'wav', data: REAL_SOUND } }] }],
  ])('still counts %s in a message as media', (_name, message) => {
    const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', ...message }] }));
    expect(estimatePromptTokens(body)).toBeLessThan(5_000);
  });
});
