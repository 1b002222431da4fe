import { listOf, type Fields } from '../server-tools/named-tools';
import type { Measured, PromptMeter } from './prompt-meter';
import { isSystemTurn, isTextPart, type RequestBody, textsOf } from './request-body';

/** Most cuts of one text. Tokens are not spread evenly, so one cut may not be enough. */
const MOST_CUTS = 4;
/** The first and the last exchange. */
const KEPT_EXCHANGES = 2;
/** No text is cut below this. */
const SHORTEST_TEXT = 200;
const GAP = '\n[…]\n';

/**
 * Removes so much from the middle of a request that its prompt fits the budget, because models read the beginning and
 * the end of a conversation best.
 *
 * First it removes whole exchanges, from the middle outwards. An exchange is a user message with everything up to the
 * next one, so tool calls are never separated from their results. System instructions, the first exchange and the last
 * one are kept. If that is not enough, it cuts the longest texts in their middle, all to the same length; those of the
 * user's last message only if nothing else is left. The result may still not fit, also if the limit for measuring is
 * used up.
 * @throws AppError provider_overloaded if there is no memory
 */
export async function middleOut(start: Measured, budget: number, meter: PromptMeter): Promise<RequestBody> {
  const dropped = await dropExchanges(start, budget, meter);
  const last = lastExchange(dropped.body.turns);
  const gentle = await shorten(dropped, { budget, meter }, (turn, index) => index < last && !isSystemTurn(turn));
  return (await shorten(gentle, { budget, meter }, () => true)).body;
}

async function dropExchanges(current: Measured, budget: number, meter: PromptMeter): Promise<Measured> {
  const { turns } = current.body;
  const numbers = exchangeNumbers(turns);
  const count = (numbers.findLast((number) => number !== null) ?? -1) + 1;
  if (count <= KEPT_EXCHANGES) return current;
  let excess = current.tokens - budget;
  if (excess <= 0) return current;
  const sizes = await exchangeSizes(turns, numbers, meter);
  let bytes = current.body.bytes.length;
  const gone = new Set<number | null>();
  for (const number of droppable(count)) {
    if (excess <= 0) break;
    gone.add(number);
    const size = sizes.get(number)!;
    excess -= size.tokens;
    bytes -= size.bytes;
  }
  await meter.reserve(Math.max(0, bytes));
  return meter.measured(current.body.withTurns(turns.filter((_turn, at) => !gone.has(numbers[at]!))));
}

interface Size {
  readonly tokens: number;
  readonly bytes: number;
}

async function exchangeSizes(
  turns: readonly Fields[],
  numbers: readonly (number | null)[],
  meter: PromptMeter,
): Promise<ReadonlyMap<number, Size>> {
  const sizes = new Map<number, Size>();
  for (const [at, turn] of turns.entries()) {
    const number = numbers[at]!;
    if (number === null) continue;
    const json = Buffer.from(JSON.stringify(turn));
    const { tokens, bytes } = sizes.get(number) ?? { tokens: 0, bytes: 0 };
    sizes.set(number, { tokens: tokens + (await meter.tokensOf(json)), bytes: bytes + json.length });
  }
  return sizes;
}

/** Returns the number of the exchange to which each turn belongs, from 0; null for system instructions. */
function exchangeNumbers(turns: readonly Fields[]): readonly (number | null)[] {
  let current = -1;
  return turns.map((turn) => {
    if (isSystemTurn(turn)) return null;
    if (current === -1 || beginsExchange(turn)) current += 1;
    return current;
  });
}

/** Returns the exchanges between the first and the last, from the middle outwards. */
function droppable(count: number): readonly number[] {
  const middle = (count - 1) / 2;
  const inner = Array.from({ length: count - KEPT_EXCHANGES }, (_, index) => index + 1);
  return inner.toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
}

/** A user message with only tool results continues the previous exchange. */
function beginsExchange(turn: Fields): boolean {
  const isResult = listOf(turn['content']).some(({ type }) => type === 'tool_result');
  return turn['role'] === 'user' && !isResult;
}

/** Returns the turn with which the last exchange begins. */
function lastExchange(turns: readonly Fields[]): number {
  return Math.max(0, turns.findLastIndex(beginsExchange));
}

interface Goal {
  readonly budget: number;
  readonly meter: PromptMeter;
}

type MayCut = (turn: Fields, index: number) => boolean;

/** Cuts the longest texts of the turns that may be cut, all to the same length, until the prompt fits. */
async function shorten(start: Measured, { budget, meter }: Goal, mayCut: MayCut): Promise<Measured> {
  let current = start;
  for (let cut = 0; cut < MOST_CUTS && current.tokens > budget && !meter.isSpent; cut += 1) {
    const next = await shortenOnce(current.body, { excess: current.tokens - budget, meter }, mayCut);
    if (next === null) break;
    current = await meter.measured(next);
  }
  return current;
}

/** Returns a shorter conversation; null if no text is long enough to be cut. */
async function shortenOnce(
  body: RequestBody,
  { excess, meter }: { readonly excess: number; readonly meter: PromptMeter },
  mayCut: MayCut,
): Promise<RequestBody | null> {
  const texts = body.turns.filter(mayCut).flatMap(cuttableTexts);
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  let tokens = 0;
  for (const text of texts) tokens += await meter.tokensOfText(text);
  if (tokens === 0) return null;
  const longest = longestFor(
    texts.map(({ length }) => length),
    Math.ceil((excess * characters) / tokens),
  );
  if (texts.every((text) => !isCut(text, longest))) return null;
  const gone = texts.reduce((sum, { length }) => sum + Math.max(0, length - longest - GAP.length), 0);
  await meter.reserve(body.bytes.length - gone);
  return body.withTurns(body.turns.map((turn, index) => (mayCut(turn, index) ? cutTurn(turn, longest) : turn)));
}

/** Returns the greatest length to which all texts must be cut to remove this many characters. */
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
