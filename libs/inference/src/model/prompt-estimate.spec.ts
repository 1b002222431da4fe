import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { estimatePromptTokens } from './estimate';
import { TEXT_SAMPLES } from '../testing/text-samples';

/** Tokens that chat formats add to each message, and to a request. */
const MESSAGE_TOKENS = 4;

interface Body {
  readonly name: string;
  readonly body: object;
  /** What the model reads, joined. */
  readonly texts: readonly string[];
  readonly messages: number;
}

const model = 'acme/chat-large';

/** Requests of all APIs with a text in each member that can hold one. */
const SHAPES: Readonly<Record<string, (text: string, other: string) => Omit<Body, 'name'>>> = {
  'a chat message': (text) => ({
    body: { model, messages: [{ role: 'user', content: text }] },
    texts: [text],
    messages: 1,
  }),
  'a conversation in parts': (text, other) => ({
    body: {
      model,
      messages: [
        { role: 'system', content: other },
        { role: 'user', content: [{ type: 'text', text }] },
        { role: 'assistant', content: other },
        { role: 'user', content: [{ type: 'text', text: other }] },
      ],
      stream: true,
    },
    texts: [text, other, other, other],
    messages: 4,
  }),
  'the schema of a tool': (text, other) => ({
    body: {
      model,
      messages: [{ role: 'user', content: other }],
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: text, parameters: { type: 'object', properties: {} } },
        },
      ],
    },
    texts: [text, other, 'f', 'object', 'properties'],
    messages: 2,
  }),
  'functions and response_format': (text, other) => ({
    body: {
      model,
      messages: [{ role: 'user', content: '?' }],
      functions: [{ name: 'f', description: text }],
      response_format: { type: 'json_schema', json_schema: { name: 's', schema: { description: other } } },
    },
    texts: [text, other, 'f', 's'],
    messages: 3,
  }),
  'a prediction': (text) => ({
    body: { model, messages: [{ role: 'user', content: '?' }], prediction: { type: 'content', content: text } },
    texts: ['?', text],
    messages: 2,
  }),
  'a response with instructions': (text, other) => ({
    body: { model, instructions: other, input: text },
    texts: [text, other],
    messages: 2,
  }),
  'items of a response': (text, other) => ({
    body: {
      model,
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
        { type: 'function_call_output', call_id: 'call_1', output: other },
      ],
    },
    texts: [text, other],
    messages: 2,
  }),
  'messages with a system': (text, other) => ({
    body: {
      model,
      max_tokens: 100,
      system: [{ type: 'text', text: other }],
      messages: [{ role: 'user', content: text }],
    },
    texts: [text, other],
    messages: 2,
  }),
  'a document of plain text': (text) => ({
    body: {
      model,
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }],
        },
      ],
    },
    texts: [text],
    messages: 1,
  }),
  'texts to embed': (text, other) => ({
    body: { model, input: [text, other, text] },
    texts: [text, other, text],
    messages: 0,
  }),
};

function corpus(): Body[] {
  const samples = Object.entries(TEXT_SAMPLES);
  return Object.entries(SHAPES).flatMap(([shape, make]) =>
    samples.map(([name, text], index) => {
      const [, other] = samples[(index + 1) % samples.length]!;
      return { name: `${name} in ${shape}`, ...make(text, other) };
    }),
  );
}

function realTokens({ texts, messages }: Body): number {
  const count = (encode: (text: string) => readonly number[]): number =>
    texts.reduce((sum, text) => sum + encode(text).length, 0);
  return Math.max(count(encodeO200k), count(encodeCl100k)) + messages * MESSAGE_TOKENS;
}

describe('the estimate of a prompt', () => {
  const bodies = corpus();
  const ratios = bodies
    .map((body) => estimatePromptTokens(Buffer.from(JSON.stringify(body.body))) / realTokens(body))
    .toSorted((a, b) => a - b);
  const at = (share: number): number => Number(ratios[Math.floor(share * (ratios.length - 1))]!.toFixed(2));

  it('is never below 0.6 of the tokens of the dearer of two vocabularies, over 500 bodies', () => {
    expect(bodies.length).toBeGreaterThanOrEqual(500);
    expect(at(0)).toBeGreaterThanOrEqual(0.6);
  });

  it.each([
    ['runes', 'ᚠᚢᚦᚨᚱᚲ'],
    ['ogham', 'ᚁᚂᚃᚄᚅ'],
    ['cuneiform', '𒀀𒀁𒀂𒀃'],
    ['Yi', 'ꀀꀁꀂꀃ'],
    ['Syriac', 'ܐܒܓܕܗ'],
    ['Canadian syllables', 'ᐁᐃᐅᐊ'],
    ['phonetic letters', 'ɐɑɒɓɔɕ'],
  ])('is not below that for texts in %s, which vocabularies have next to nothing of', (_script, letters) => {
    const content = letters.repeat(300);
    const body = { model: 'm', messages: [{ role: 'user', content }] };
    const real = Math.max(encodeO200k(content).length, encodeCl100k(content).length);
    expect(estimatePromptTokens(Buffer.from(JSON.stringify(body))) / real).toBeGreaterThanOrEqual(0.6);
  });

  it('has this distribution', () => {
    expect({ least: at(0), p5: at(0.05), median: at(0.5), p95: at(0.95), most: at(1) }).toEqual({
      least: 0.64,
      p5: 0.87,
      median: 1.22,
      p95: 1.76,
      most: 3.27,
    });
  });
});
