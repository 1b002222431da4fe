import type { DifferenceCause, ExplainedPart } from './charge-difference';
import type { PriceCell } from './charge-facts';
import { isBase, totalShift, type CellShift } from './cell-usage';
import type { KnownWork } from './known-work';
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
 * Gives each difference of counts the one cause that fits it, and the exact price of it. Two causes that fit are as
 * good as none: the answer is then a reason, and no parts.
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

/** Each cell may hold all calls without usage, all cells together no more of them. */
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

/** Calls that the provider counted in another price cell than Sluice did. */
function explainMove({ cell, tokens, requests }: CellShift, { book, model }: Question): Explained {
  if (!isAtLeastZero(tokens) && !isAtMostZero(tokens)) return `calls moved into and out of ${cellText(cell)}`;
  const count = requests ?? 0n;
  const standard = book.price(model, { ...cell, tier: 'standard', isLong: false }, tokens, count);
  const tiered = book.price(model, { ...cell, isLong: false }, tokens, count);
  const whole = book.price(model, cell, tokens, count);
  if (standard === null || tiered === null || whole === null) return noPrice(cell);
  const detail = `${tokensText(tokens)} tokens are ${cellText(cell)} at the provider`;
  const parts: ExplainedPart[] = [];
  if (tiered !== standard) parts.push({ cause: 'tier', amount: tiered - standard, detail });
  if (whole !== tiered) parts.push({ cause: 'long_context', amount: whole - tiered, detail });
  return parts;
}

/** More or fewer calls or tokens than Sluice recorded, in one cell. */
function explainExtra(shift: CellShift, { book, model, known }: Question): Explained {
  const causes = FITS.filter(([, fits]) => fits(shift, known)).map(([cause]) => cause);
  const seen = `${requestsText(shift.requests)}${tokensText(shift.tokens)} tokens in ${cellText(shift.cell)}`;
  if (causes.length === 0) return `no cause fits ${seen}`;
  if (causes.length > 1) return `${causes.join(' and ')} both fit ${seen}`;
  const amount = book.price(model, shift.cell, shift.tokens, shift.requests ?? 0n);
  return amount === null ? noPrice(shift.cell) : [{ cause: causes[0]!, amount, detail: seen }];
}

type Fit = (shift: CellShift, known: KnownWork) => boolean;

const FITS: readonly (readonly [DifferenceCause, Fit])[] = [
  ['cache_write', isCacheWrite],
  ['retry', (shift, known) => !shift.cell.isBatch && isMore(shift, known.failedAttempts, known)],
  ['abandoned_call', (shift, known) => !shift.cell.isBatch && isMore(shift, known.abandonedCalls, known)],
  ['orphan_batch', (shift, known) => shift.cell.isBatch && isMore(shift, known.orphanRequests, known)],
  ['missing_at_provider', isFewer],
  [
    'estimated_usage',
    (shift, known) =>
      (shift.requests ?? 0n) === 0n && isOfRequests(shift, known.estimatedCalls, known) && !isCacheWrite(shift),
  ],
];

/**
 * Calls were added, at most so many as Sluice knows to have no usage. Where the report does not count requests, their
 * tokens must be those of whole requests, none of them larger than the largest that was recorded that day.
 */
function isMore(shift: CellShift, atMost: bigint, known: KnownWork): boolean {
  const { requests, tokens } = shift;
  if (atMost === 0n || !isAtLeastZero(tokens)) return false;
  if (requests !== null) return requests > 0n && requests <= atMost;
  return inputOf(tokens) > 0n && isOfRequests(shift, atMost, known);
}

/** Calls are gone; without a count of requests, only if whole calls may be: input and no more. */
function isFewer({ requests, tokens }: CellShift): boolean {
  return isAtMostZero(tokens) && (requests === null ? inputOf(tokens) < 0n : requests < 0n);
}

/** So many requests can account for the tokens, if none was larger than the largest that was recorded that day. */
function isOfRequests({ cell, tokens }: CellShift, count: bigint, { longest }: KnownWork): boolean {
  const { prompt, output } = cell.isLong === null ? longest.any : cell.isLong ? longest.long : longest.short;
  return size(inputOf(tokens)) <= count * prompt && size(tokens.output) <= count * output && count > 0n;
}

function inputOf({ uncached, cached, cacheWrite5m, cacheWrite1h }: TokenCounts): bigint {
  return uncached + cached + cacheWrite5m + cacheWrite1h;
}

function size(count: bigint): bigint {
  return count < 0n ? -count : count;
}

/** The same calls and input in other classes, with cache writes among them. */
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
