import type { DifferenceCause, ExplainedPart } from './charge-difference';
import type { PriceCell } from './charge-facts';
import { isBase, totalShift, type CellShift } from './cell-usage';
import type { PriceBook } from './price-book';
import { isAtLeastZero, isAtMostZero, isZero, tokensText } from './token-counts';

/** What Sluice knows of a day and model beside the usage that it recorded. */
export interface KnownWork {
  readonly failedAttempts: bigint;
  readonly abandonedCalls: bigint;
  readonly orphanRequests: bigint;
  readonly estimatedCalls: bigint;
}

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
  if (hasOneSign || isWithinCells) return joined(side.map((shift) => explainExtra(shift, question)));
  const moves = side.filter(({ cell }) => !isBase(cell)).map((shift) => explainMove(shift, question));
  const total = totalShift(side);
  if (isZero(total.tokens) && (total.requests ?? 0n) === 0n) return joined(moves);
  const base = { tier: 'standard', isLong: false, isBatch: side[0]!.cell.isBatch };
  return joined([...moves, explainExtra({ cell: base, ...total }, question)]);
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
  const causes = causesThatFit(shift, known);
  const seen = `${requestsText(shift.requests)}${tokensText(shift.tokens)} tokens in ${cellText(shift.cell)}`;
  if (causes.length === 0) return `no cause fits ${seen}`;
  if (causes.length > 1) return `${causes.join(' and ')} both fit ${seen}`;
  const amount = book.price(model, shift.cell, shift.tokens, shift.requests ?? 0n);
  return amount === null ? noPrice(shift.cell) : [{ cause: causes[0]!, amount, detail: seen }];
}

type Fit = (shift: CellShift, known: KnownWork) => boolean;

const FITS: readonly (readonly [DifferenceCause, Fit])[] = [
  ['cache_write', isCacheWrite],
  ['retry', (shift, { failedAttempts }) => !shift.cell.isBatch && isMore(shift, failedAttempts)],
  ['abandoned_call', (shift, { abandonedCalls }) => !shift.cell.isBatch && isMore(shift, abandonedCalls)],
  ['orphan_batch', (shift, { orphanRequests }) => shift.cell.isBatch && isMore(shift, orphanRequests)],
  ['missing_at_provider', ({ requests, tokens }) => isAtMostZero(tokens) && (requests === null || requests < 0n)],
  [
    'estimated_usage',
    (shift, { estimatedCalls }) => (shift.requests ?? 0n) === 0n && estimatedCalls > 0n && !isCacheWrite(shift),
  ],
];

function causesThatFit(shift: CellShift, known: KnownWork): DifferenceCause[] {
  return FITS.filter(([, fits]) => fits(shift, known)).map(([cause]) => cause);
}

/** Calls were added, at most so many as Sluice knows to have no usage. */
function isMore({ requests, tokens }: CellShift, atMost: bigint): boolean {
  if (atMost === 0n || !isAtLeastZero(tokens)) return false;
  return requests === null || (requests > 0n && requests <= atMost);
}

/** The same calls and input in other classes, with cache writes among them. */
function isCacheWrite({ requests, tokens }: CellShift): boolean {
  const { uncached, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  if ((requests ?? 0n) !== 0n) return false;
  const hasWrites = cacheWrite5m !== 0n || cacheWrite1h !== 0n;
  return hasWrites && output === 0n && uncached + cached + cacheWrite5m + cacheWrite1h === 0n;
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
