import { hasMoreParts, type MostParts } from '@libs/json';

/** Shorter texts take little memory, whatever is in them. */
const LARGEST_UNCOUNTED = 256 * 1024;
/** Enough for the probabilities of 20 alternatives for 20,000 tokens, and for vectors of 64 MiB. */
const MOST_OF_ANSWER: MostParts = { containers: 1_000_000, members: 2_000_000, commas: 8_000_000 };
const MOST_OF_EVENT: MostParts = { containers: 250_000, members: 500_000, commas: 1_000_000 };
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;

/** Returns whether a whole answer, if it is JSON, would take too much memory and time to parse. */
export function isTooDenseToParse(body: Buffer): boolean {
  const isJson = body[0] === OPEN_OBJECT || body[0] === OPEN_ARRAY || (body[0] ?? 0x21) <= 0x20;
  return isJson && body.length > LARGEST_UNCOUNTED && hasMoreParts(body, MOST_OF_ANSWER);
}

/** The same for the data of an event. */
export function isEventTooDense(data: Buffer): boolean {
  return data.length > LARGEST_UNCOUNTED && hasMoreParts(data, MOST_OF_EVENT);
}
