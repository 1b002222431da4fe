import { APIS, type CallableApi, type ContentInput } from '@libs/inference';

/** Most bytes that are stored of one input and of one output, as JSON. */
export const MOST_KEPT_BYTES = 256 * 1024;
/** Larger bodies are not parsed, because that would delay other calls. */
const MOST_READ_BYTES = 4 * 1024 * 1024;
/** Longest text to keep inside an input that is too large: enough for words, too little for pictures. */
const LONGEST_TEXT = 8 * 1024;

type Body = Readonly<Record<string, unknown>>;

/**
 * Returns the prompt as JSON text of limited size. Of an input that is too large, it keeps the beginning of long texts
 * and, if that is not enough, the newest turns. A note replaces each part that was left out.
 */
export function contentInput(api: CallableApi, body: Body, bodyBytes: number): string {
  if (bodyBytes > MOST_READ_BYTES) return JSON.stringify({ prompt: leftOut(bodyBytes, 'bytes of input') });
  const input = APIS[api].contentInputOf(body);
  if (bodyBytes <= MOST_KEPT_BYTES) return JSON.stringify(input);
  const shortened = JSON.parse(JSON.stringify(input), shorten) as ContentInput;
  return 'prompt' in shortened ? JSON.stringify(shortened) : newestTurns(shortened.messages);
}

/** Returns the beginning of a text that is too long to be stored. */
export function beginningOf(text: string, most: number = MOST_KEPT_BYTES): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most)} ${leftOut(text.length - most, 'characters')}`;
}

function shorten(_member: string, value: unknown): unknown {
  return typeof value === 'string' ? beginningOf(value, LONGEST_TEXT) : value;
}

function newestTurns(turns: readonly unknown[]): string {
  const texts = turns.map((turn) => JSON.stringify(turn));
  let bytes = 0;
  let from = texts.length;
  while (from > 0 && (bytes += Buffer.byteLength(texts[from - 1]!) + 1) <= MOST_KEPT_BYTES) from -= 1;
  const note = from === 0 ? [] : [JSON.stringify({ role: 'system', content: leftOut(from, 'older messages') })];
  return `{"messages":[${[...note, ...texts.slice(from)].join(',')}]}`;
}

function leftOut(count: number, what: string): string {
  return `[${count} ${what} left out]`;
}
