import { usualTextTokens, likelyPromptTokens } from '@libs/inference';
import { listOf, type Fields } from '../server-tools/named-tools';
import { isSystemTurn, isTextPart, RequestBody, textsOf } from './request-body';

/** Tokens are not spread evenly over a text, so a cut may have to be followed by another. */
const MOST_CUTS = 4;
/** The first and the last. */
const KEPT_EXCHANGES = 2;
/** Of a longer text the tokens are guessed from so many characters at its beginning. */
const SAMPLE_CHARACTERS = 16 * 1_024;
/** No text is cut below this. */
const SHORTEST_TEXT = 200;
const GAP = '\n[…]\n';

/**
 * The request with so much taken out of its middle that its prompt fits the budget: models read the beginning
 * and the end of a conversation best.
 *
 * First whole exchanges go, from the middle outwards; an exchange is what a user said with everything up to the
 * next time, so calls of tools are never parted from their results. What says how to behave, the first exchange
 * and the last one stay. If that is not enough, the longest texts are cut in their middle, all to one length, and
 * those of the user's last words only when there is nothing else. It may not fit even then.
 */
export function middleOut(body: RequestBody, budget: number): RequestBody {
  const dropped = dropExchanges(measured(body), budget);
  const last = lastExchange(dropped.body.turns);
  const gentle = shorten(dropped, budget, (turn, index) => index < last && !isSystemTurn(turn));
  return shorten(gentle, budget, () => true).body;
}

/** A body of many megabytes is measured once after each change, because nothing else runs meanwhile. */
interface Measured {
  readonly body: RequestBody;
  readonly tokens: number;
}

function measured(body: RequestBody): Measured {
  return { body, tokens: likelyPromptTokens(body.bytes) };
}

function dropExchanges(current: Measured, budget: number): Measured {
  const { turns } = current.body;
  const numbers = exchangeNumbers(turns);
  const count = (numbers.findLast((number) => number !== null) ?? -1) + 1;
  if (count <= KEPT_EXCHANGES) return current;
  const sizes = new Map<number, number>();
  turns.forEach((turn, at) => {
    const number = numbers[at]!;
    if (number !== null) sizes.set(number, (sizes.get(number) ?? 0) + tokensOf(turn));
  });
  let excess = current.tokens - budget;
  const gone = new Set<number | null>();
  for (const number of droppable(count)) {
    if (excess <= 0) break;
    gone.add(number);
    excess -= sizes.get(number)!;
  }
  if (gone.size === 0) return current;
  return measured(current.body.withTurns(turns.filter((_turn, at) => !gone.has(numbers[at]!))));
}

function tokensOf(turn: Fields): number {
  return likelyPromptTokens(Buffer.from(JSON.stringify(turn)));
}

/** Which exchange each turn belongs to, from 0; null for what says how to behave. */
function exchangeNumbers(turns: readonly Fields[]): readonly (number | null)[] {
  let current = -1;
  return turns.map((turn) => {
    if (isSystemTurn(turn)) return null;
    if (current === -1 || beginsExchange(turn)) current += 1;
    return current;
  });
}

/** The exchanges between the first and the last, from the middle outwards. */
function droppable(count: number): readonly number[] {
  const middle = (count - 1) / 2;
  const inner = Array.from({ length: count - KEPT_EXCHANGES }, (_, index) => index + 1);
  return inner.toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
}

/** A message of a user that brings only results of tools goes on with what was before. */
function beginsExchange(turn: Fields): boolean {
  const isResult = listOf(turn['content']).some(({ type }) => type === 'tool_result');
  return turn['role'] === 'user' && !isResult;
}

/** Where the last exchange begins. */
function lastExchange(turns: readonly Fields[]): number {
  return Math.max(0, turns.findLastIndex(beginsExchange));
}

type MayCut = (turn: Fields, index: number) => boolean;

/** Cuts the longest texts of the turns that may be cut, all to the same length, until the prompt fits. */
function shorten(start: Measured, budget: number, mayCut: MayCut): Measured {
  let current = start;
  for (let cut = 0; cut < MOST_CUTS && current.tokens > budget; cut += 1) {
    const next = shortenOnce(current.body, current.tokens - budget, mayCut);
    if (next === null) break;
    current = measured(next);
  }
  return current;
}

/** Null where no text is long enough to be cut. */
function shortenOnce(body: RequestBody, excess: number, mayCut: MayCut): RequestBody | null {
  const texts = body.turns.filter(mayCut).flatMap(cuttableTexts);
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  const tokens = texts.reduce((sum, text) => sum + likelyTextTokens(text), 0);
  if (tokens === 0) return null;
  const longest = longestFor(
    texts.map(({ length }) => length),
    Math.ceil((excess * characters) / tokens),
  );
  if (texts.every((text) => !isCut(text, longest))) return null;
  return body.withTurns(body.turns.map((turn, index) => (mayCut(turn, index) ? cutTurn(turn, longest) : turn)));
}

function likelyTextTokens(text: string): number {
  if (text.length <= SAMPLE_CHARACTERS) return usualTextTokens(text);
  return usualTextTokens(text.slice(0, SAMPLE_CHARACTERS)) * (text.length / SAMPLE_CHARACTERS);
}

/** The greatest length to which all texts must be cut for so many characters to go. */
function longestFor(lengths: readonly number[], excess: number): number {
  const sorted = lengths.toSorted((a, b) => b - a);
  let sum = 0;
  for (const [index, length] of sorted.entries()) {
    sum += length;
    const cut = index + 1;
    const level = Math.floor((sum - excess) / cut) - GAP.length;
    if (level >= (sorted[index + 1] ?? 0)) return Math.max(level, SHORTEST_TEXT);
  }
  return SHORTEST_TEXT;
}

function cuttableTexts(turn: Fields): readonly string[] {
  const { output } = turn;
  const results = listOf(turn['content']).flatMap(({ content }) =>
    typeof content === 'string' ? [content] : textsOf({ content }),
  );
  return [...textsOf(turn), ...results, ...(typeof output === 'string' ? [output] : [])];
}

function cutTurn(turn: Fields, longest: number): Fields {
  const { content, output } = turn;
  return {
    ...turn,
    ...('content' in turn && { content: cutContent(content, longest) }),
    ...(typeof output === 'string' && { output: cutText(output, longest) }),
  };
}

function cutContent(content: unknown, longest: number): unknown {
  if (typeof content === 'string') return cutText(content, longest);
  if (!Array.isArray(content)) return content;
  return listOf(content).map((part) => {
    if (isTextPart(part)) return { ...part, text: cutText(part.text, longest) };
    return part['type'] === 'tool_result' ? { ...part, content: cutContent(part['content'], longest) } : part;
  });
}

function isCut({ length }: string, longest: number): boolean {
  return length > longest + GAP.length;
}

function cutText(text: string, longest: number): string {
  if (!isCut(text, longest)) return text;
  const head = Math.ceil(longest / 2);
  return (text.slice(0, head) + GAP + text.slice(text.length - (longest - head))).toWellFormed();
}
