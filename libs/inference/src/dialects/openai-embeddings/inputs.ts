import { JsonCursor, isObject, objectsOf } from '@libs/json';
import { tokensOfBytes } from '../../model/estimate';

/** Estimated tokens of one picture, recording, video or file among the inputs. */
const MEDIA_TOKENS = 1_000;

/** Returns how many embeddings the `input` at the cursor asks for: a string or a list of token ids is one input. */
export function countInputs(cursor: JsonCursor): number {
  if (!cursor.isArray()) return 1;
  const start = cursor.position;
  if (cursor.readNumbers() !== null) return 1;
  cursor.position = start;
  let inputs = 0;
  cursor.readArray(() => (inputs += 1));
  return inputs;
}

/**
 * Returns the estimated tokens of the longest input of a validated body. Each input may fill the model's context, so
 * the longest one decides whether a request fits, not the sum.
 */
export function longestInputTokens(body: unknown): number {
  const input = isObject(body) ? body['input'] : undefined;
  if (!Array.isArray(input)) return tokensOfInput(input);
  if (typeof input[0] === 'number') return input.length;
  return input.reduce<number>((longest, one) => Math.max(longest, tokensOfInput(one)), 0);
}

function tokensOfInput(input: unknown): number {
  if (typeof input === 'string') return tokensOfBytes(Buffer.byteLength(input));
  if (Array.isArray(input)) return input.length;
  return isObject(input) ? objectsOf(input['content']).reduce((sum, part) => sum + tokensOfPart(part), 0) : 0;
}

function tokensOfPart({ text }: Readonly<Record<string, unknown>>): number {
  return typeof text === 'string' ? tokensOfInput(text) : MEDIA_TOKENS;
}
