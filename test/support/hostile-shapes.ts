import { tinyPdf } from '../../apps/gateway/src/parsers/testing/tiny-pdf';
import type { UpstreamDialect } from './provider-scripts';

/** A request that tries to cost more than what is held for it. */
export interface HostileShape {
  readonly name: string;
  readonly api: UpstreamDialect;
  readonly body: object;
  /** The caller leaves a stream at its first words. */
  readonly leaves: boolean;
  /** Sent as the requests of one batch instead of as calls. */
  readonly isBatch: boolean;
}

/** What a provider of the tests charges for a picture, whatever its size. */
export const PICTURE_TOKENS = 1_100;

/** Numbers that are the same in each run. */
class Dice {
  constructor(private state: number) {}

  below(limit: number): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.state % limit;
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!;
  }
}

const ALPHABETS: Readonly<Record<string, string>> = {
  English: 'the quick brown fox jumps over a lazy dog while it rains in spain ',
  Chinese: '你好世界我们今天在这里写一些很长的文字以便计算价格',
  Tamil: 'வணக்கம் உலகம் இது ஒரு நீண்ட உரை ',
  emoji: '😀🚀🌍👩‍👩‍👧‍👦🏳️‍🌈🧪',
  digits: '0123456789',
  symbols: '{}[]<>|\\/"\'`~!@#$%^&*()_+-=;:,.?',
  Cyrillic: 'Съешь же ещё этих мягких французских булок да выпей чаю ',
  Hebrew: 'שלום עולם זה טקסט ארוך מאוד ',
  rare: 'ꙮ᚛ᚁᚂᚃ᚜𒀀𓀀𐎀',
  spaces: ' \t\n ',
};

function textOf(dice: Dice, characters: number): string {
  const alphabet = Array.from(dice.of(Object.values(ALPHABETS)));
  const start = dice.below(alphabet.length);
  return Array.from({ length: characters }, (_, at) => alphabet[(start + at) % alphabet.length]).join('');
}

const base64Of = (dice: Dice, characters: number): string => {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return Array.from({ length: characters }, () => digits[dice.below(64)]).join('');
};

/** Places for the text, most of them chosen because an estimate may miss them. */
const PLACES: Readonly<Record<string, (text: string, dice: Dice) => object>> = {
  'the conversation': (text) => ({ text }),
  'a prefix of media': (text, dice) => ({ text: `data:image/png;base64,${base64Of(dice, 40)},${text}` }),
  'a member of no API': (text) => ({ text: 'Hi', more: { prediction_of_mine: { content: text } } }),
  'a prediction': (text) => ({ text: 'Hi', more: { prediction: { type: 'content', content: text } } }),
  'a schema': (text) => ({
    text: 'Hi',
    tools: { type: 'object', properties: { a: { type: 'string', description: text, enum: [text.slice(0, 40)] } } },
  }),
  'names of a schema': (text) => ({
    text: 'Hi',
    tools: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 40 }, (_, at) => [`${text.slice(at, at + 12)}${at}`, { type: 'string' }]),
      ),
    },
  }),
  'numbers of a schema': (text) => ({
    text: 'Hi',
    tools: { type: 'object', properties: { a: { enum: Array.from(text, (_, at) => at * 7_919 + 0.5) } } },
  }),
  'many short messages': (text) => ({ texts: text.match(/[^]{1,20}/gu) ?? [''] }),
  'a message with a picture': (text) => ({ text, picture: true }),
  'a name of a file': (text) => ({ text: 'Hi', more: { metadata: { note: text.slice(0, 500) } } }),
};

/** Every so many shapes are a batch, a loop of server tools, or a file that a plugin reads. */
const BATCH_EVERY = 15;
const LOOP_EVERY = 11;
const FILE_EVERY = 13;

const LOOP = { tools: [{ type: 'sluice:datetime' }], max_tool_calls: 12 };

/** A file whose text is longer than the request that brings it. */
function fileShape(text: string): object {
  const pages = Array.from({ length: 20 }, () => text.replaceAll(/[^ -~]|[()\\]/g, 'x'));
  const file_data = `data:application/pdf;base64,${tinyPdf(pages).toString('base64')}`;
  const content = [
    { type: 'text', text: 'Read.' },
    { type: 'file', file: { filename: 'a.pdf', file_data } },
  ];
  return { messages: [{ role: 'user', content }], plugins: [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }] };
}

interface Parts {
  readonly text?: string;
  readonly texts?: readonly string[];
  readonly tools?: object;
  readonly picture?: boolean;
  readonly more?: object;
}

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function bodyOf(api: UpstreamDialect, { text, texts = [text ?? ''], tools, picture, more }: Parts): object {
  const url = `data:image/png;base64,${PIXEL}`;
  const image = {
    chat: { type: 'image_url', image_url: { url } },
    responses: { type: 'input_image', image_url: url },
    messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
  }[api];
  const words = (one: string): object => ({ type: api === 'responses' ? 'input_text' : 'text', text: one });
  const parts = (one: string): object[] => [words(one), ...(picture === true ? [image] : [])];
  const turns = texts.map((one) => ({ role: 'user', content: parts(one) }));
  const called = {
    chat: { type: 'function', function: { name: 'f', parameters: tools } },
    responses: { type: 'function', name: 'f', parameters: tools },
    messages: { name: 'f', input_schema: tools },
  }[api];
  return {
    ...(api === 'responses' ? { input: turns } : { messages: turns }),
    ...(tools !== undefined && { tools: [called] }),
    ...more,
  };
}

const CAPS: Readonly<Record<UpstreamDialect, string>> = {
  chat: 'max_tokens',
  responses: 'max_output_tokens',
  messages: 'max_tokens',
};
const APIS: readonly UpstreamDialect[] = ['chat', 'responses', 'messages'];

/** Returns `count` shapes, the same in each run. */
export function hostileShapes(count: number): readonly HostileShape[] {
  const dice = new Dice(20_261_124);
  return Array.from({ length: count }, (_, number) => {
    const cap = dice.of([16, 50, 200, 400]);
    const text = textOf(dice, dice.of([20, 300, 1_500, 4_000]));
    const size = `${text.length} characters`;
    const rest = { leaves: false, isBatch: false };
    if (number % LOOP_EVERY === 1) {
      const body = { ...bodyOf('chat', { text }), ...LOOP, max_tokens: cap };
      return { ...rest, name: `${number}: ${size} in a loop`, api: 'chat', body };
    }
    if (number % FILE_EVERY === 1) {
      return {
        ...rest,
        name: `${number}: ${size} in a file`,
        api: 'chat',
        body: { ...fileShape(text), max_tokens: cap },
      };
    }
    const api = APIS[number % APIS.length]!;
    if (number % BATCH_EVERY === 2) {
      const body = { ...bodyOf(api, { text }), [CAPS[api]]: cap };
      return { ...rest, isBatch: true, name: `${number}: ${size} in a batch of ${api}`, api, body };
    }
    return { ...callShape(dice, { api, cap, text }), name: `${number}: ${size} of ${api}, at most ${cap} tokens` };
  });
}

function callShape(
  dice: Dice,
  { api, cap, text }: { readonly api: UpstreamDialect; readonly cap: number; readonly text: string },
): Omit<HostileShape, 'name'> {
  const place = dice.of(Object.values(PLACES));
  const choices = api === 'chat' && dice.below(4) === 0 ? { n: dice.of([2, 8]) } : {};
  const isStream = dice.below(3) === 0;
  const body = { ...bodyOf(api, place(text, dice)), [CAPS[api]]: cap, ...choices, ...(isStream && { stream: true }) };
  return { api, body, leaves: isStream && dice.below(2) === 0, isBatch: false };
}
