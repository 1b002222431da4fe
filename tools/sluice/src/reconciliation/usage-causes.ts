import type { DifferenceCause, ExplainedPart } from './charge-difference';
import type { PriceCell } from './charge-facts';
import { isBase, totalShift, type CellShift } from './cell-usage';
import type { KnownWork, LongestRequest } from './known-work';
import type { PriceBook } from './price-book';
import { isAtLeastZero, isAtMostZero, isZero, tokensText, type TokenCounts } from './token-counts';

/** The parts of a difference that differing counts explain, or why they explain nothing. */
export type UsageExplanation =
  | { readonly parts: readonly ExplainedPart[] }
  | { readonly parts: null; readonly reason: string };

interface Question {
  readonly book: PriceBook;
  readonly model: string;
  readonly known: KnownWork;
}

/**
 * Finds for each difference of counts the one cause that fits it, with its exact price. If two causes fit, the answer
 * is a reason without parts.
 */
export function explainUsage(shifts: readonly CellShift[], question: Question): UsageExplanation {
  const parts: ExplainedPart[] = [];
  for (const isBatch of [false, true]) {
    const side = shifts.filter(({ cell }) => cell.isBatch === isBatch);
    const explained = side.length === 0 ? [] : explainSide(side, question);
    if (typeof explained === 'string') return { parts: null, reason: explained };
    parts.push(...explained);
  }
  return { parts };
}

type Explained = readonly ExplainedPart[] | string;

function explainSide(side: readonly CellShift[], question: Question): Explained {
  const hasOneSign =
    side.every(({ tokens }) => isAtLeastZero(tokens)) || side.every(({ tokens }) => isAtMostZero(tokens));
  const isWithinCells = side.length === 1 || side.every(isCacheWrite);
  if (isMoreThanKnown(side, question.known)) {
    return `more requests than failed or were lost in ${cellText(side[0]!.cell)}`;
  }
  if (hasOneSign || isWithinCells) return joined(side.map((shift) => explainExtra(shift, question)));
  const moves = side.filter(({ cell }) => !isBase(cell)).map((shift) => explainMove(shift, question));
  const total = totalShift(side);
  if (isZero(total.tokens) && (total.requests ?? 0n) === 0n) return joined(moves);
  const { isBatch, isLong } = side[0]!.cell;
  const base = { tier: 'standard', isLong: isLong === null ? null : false, isBatch };
  return joined([...moves, explainExtra({ cell: base, ...total }, question)]);
}

/** Each single cell may contain all calls without usage, but all cells together no more than these. */
function isMoreThanKnown(side: readonly CellShift[], known: KnownWork): boolean {
  const { requests } = totalShift(side);
  const { isBatch } = side[0]!.cell;
  const without = isBatch ? known.orphanRequests : known.failedAttempts + known.abandonedCalls;
  return requests !== null && requests > without;
}

function joined(all: readonly Explained[]): Explained {
  const parts: ExplainedPart[] = [];
  for (const one of all) {
    if (typeof one === 'string') return one;
    parts.push(...one);
  }
  return parts;
}

/** Calls that the provider counted in another price cell than Sluice: none larger than the largest recorded one. */
function explainMove({ cell, tokens, requests }: CellShift, { book, model, known }: Question): Explained {
  if (!isAtLeastZero(tokens) && !isAtMostZero(tokens)) return `calls moved into and out of ${cellText(cell)}`;
  const count = requests ?? 0n;
  if (requests !== null && !isWithin(tokens, size(count), known.longest.any)) {
    return `the ${count} requests in ${cellText(cell)} are larger than the recorded ones`;
  }
  return priceMove({ cell, tokens, requests: count }, book, model);
}

function priceMove(
  { cell, tokens, requests }: CellShift & { requests: bigint },
  book: PriceBook,
  model: string,
): Explained {
  const standard = book.price(model, { ...cell, tier: 'standard', isLong: false }, tokens, requests);
  const tiered = book.price(model, { ...cell, isLong: false }, tokens, requests);
  const whole = book.price(model, cell, tokens, requests);
  if (standard === null || tiered === null || whole === null) return noPrice(cell);
  const detail = `${tokensText(tokens)} tokens are ${cellText(cell)} at the provider`;
  const parts: ExplainedPart[] = [];
  if (tiered !== standard) parts.push({ cause: 'tier', amount: tiered - standard, detail });
  if (whole !== tiered) parts.push({ cause: 'long_context', amount: whole - tiered, detail });
  return parts;
}

/** More or fewer calls or tokens than Sluice recorded, in one cell. */
function explainExtra(shift: CellShift, question: Question): Explained {
  const { book, model } = question;
  const causes = FITS.filter(([, fits]) => fits(shift, question)).map(([cause]) => cause);
  const seen = `${requestsText(shift.requests)}${tokensText(shift.tokens)} tokens in ${cellText(shift.cell)}`;
  if (causes.length === 0) return `no cause fits ${seen}`;
  if (causes.length > 1) return `${causes.join(' and ')} both fit ${seen}`;
  const amount = book.price(model, shift.cell, shift.tokens, shift.requests ?? 0n);
  return amount === null ? noPrice(shift.cell) : [{ cause: causes[0]!, amount, detail: seen }];
}

type Fit = (shift: CellShift, question: Question) => boolean;

const FITS: readonly (readonly [DifferenceCause, Fit])[] = [
  ['cache_write', isCacheWrite],
  ['retry', (shift, asked) => !shift.cell.isBatch && isMore(shift, asked.known.failedAttempts, asked)],
  ['abandoned_call', (shift, asked) => !shift.cell.isBatch && isMore(shift, asked.known.abandonedCalls, asked)],
  ['orphan_batch', (shift, asked) => shift.cell.isBatch && isMore(shift, asked.known.orphanRequests, asked)],
  ['missing_at_provider', isFewer],
  [
    'estimated_usage',
    (shift, { known }) =>
      (shift.requests ?? 0n) === 0n && isOfRequests(shift, known.estimatedCalls, known) && !isCacheWrite(shift),
  ],
];

/**
 * Additional calls: at most as many as Sluice knows to have no usage, with no more tokens than fit into their contexts.
 * If the report does not count requests, their tokens must be those of whole requests, none larger than the largest
 * recorded one of that day.
 */
function isMore(shift: CellShift, atMost: bigint, { book, model, known }: Question): boolean {
  const { requests, tokens } = shift;
  if (atMost === 0n || !isAtLeastZero(tokens)) return false;
  if (requests === null) return inputOf(tokens) > 0n && isOfRequests(shift, atMost, known);
  const { prompt, output } = known.longest.any;
  const context = BigInt(book.contextOf(model) ?? 0);
  const largest = { prompt: prompt > context ? prompt : context, output: output > context ? output : context };
  return requests > 0n && requests <= atMost && isWithin(tokens, requests, largest);
}

/**
 * Missing calls: they were recorded, so none was larger than the largest of that day. Without a count of requests, only
 * if whole calls are possible: both input and output.
 */
function isFewer({ requests, tokens }: CellShift, { known }: Question): boolean {
  if (!isAtMostZero(tokens)) return false;
  if (requests === null) return inputOf(tokens) < 0n;
  return requests < 0n && isWithin(tokens, -requests, known.longest.any);
}

/**
 * Returns whether this many requests can have the tokens, if none was larger than the largest recorded one of that day.
 */
function isOfRequests({ cell, tokens }: CellShift, count: bigint, { longest }: KnownWork): boolean {
  const largest = cell.isLong === null ? longest.any : cell.isLong ? longest.long : longest.short;
  return count > 0n && isWithin(tokens, count, largest);
}

function isWithin(tokens: TokenCounts, count: bigint, { prompt, output }: LongestRequest): boolean {
  return size(inputOf(tokens)) <= count * prompt && size(tokens.output) <= count * output;
}

function inputOf({ uncached, cached, cacheWrite5m, cacheWrite1h }: TokenCounts): bigint {
  return uncached + cached + cacheWrite5m + cacheWrite1h;
}

function size(count: bigint): bigint {
  return count < 0n ? -count : count;
}

/** The same calls and input in other classes, including cache writes. */
function isCacheWrite({ requests, tokens }: CellShift): boolean {
  const { cacheWrite5m, cacheWrite1h, output } = tokens;
  if ((requests ?? 0n) !== 0n) return false;
  const hasWrites = cacheWrite5m !== 0n || cacheWrite1h !== 0n;
  return hasWrites && output === 0n && inputOf(tokens) === 0n;
}

function cellText({ tier, isLong, isBatch }: PriceCell): string {
  return `${tier}${isLong === true ? ', long context' : ''}${isBatch ? ', batch' : ''}`;
}

function noPrice(cell: PriceCell): string {
  return `the catalogue has no price for ${cellText(cell)}`;
}

function requestsText(requests: bigint | null): string {
  return requests === null ? '' : `${requests > 0n ? '+' : ''}${requests} requests, `;
}
