import { formatUsd, type PicoUsd } from '@libs/inference';
import type { BatchLane, QuotedBatch, StoredQuote } from '@libs/persistence';
import { LEAST_PAST, rangeOfNext } from './quote-range';

export interface QuoteFacts {
  readonly workspaceId: string;
  readonly lane: BatchLane;
  readonly ownKey: boolean;
  /** The most that the lines cost, according to their content. */
  readonly estimate: PicoUsd;
  /** Expected duration at the current speed, in milliseconds; null if unknown. */
  readonly expectedMs: number | null;
  /** Finished batches of the same kind. */
  readonly past: readonly QuotedBatch[];
}

const WINDOW_MS = 24 * 3_600_000;
/** A forecast without finished batches to compare with may be wrong by this factor plus the duration below. */
const UNPROVEN_FACTOR = 4;
const UNPROVEN_MS = 60_000;
/** Ratios are applied in millionths, so that amounts stay whole pico-dollars. */
const MILLION = 1_000_000n;

/**
 * Returns what a batch will cost and when it will end; right in four of five cases.
 *
 * The expectation is corrected by the errors of earlier ones: bills of finished batches compared with their estimates,
 * and durations compared with what the lane's speed had predicted. So the intervals are as wide as past errors were.
 * With too few past batches they have a fixed, wide size.
 */
export function quoteBatch(facts: QuoteFacts): StoredQuote {
  return { lane: facts.lane, own_key: facts.ownKey, cost: quoteCost(facts), finish: quoteFinish(facts) };
}

function quoteCost({ workspaceId, ownKey, estimate, past }: QuoteFacts): StoredQuote['cost'] {
  const alike = past.filter((batch) => batch.ownKey === ownKey && batch.costRatio !== null);
  // A caller's batches resemble each other more than those of other callers.
  const own = alike.filter((batch) => batch.workspaceId === workspaceId);
  const range = rangeOfNext((own.length >= LEAST_PAST ? own : alike).map(({ costRatio }) => costRatio!));
  const text = formatUsd(estimate);
  // Failed lines cost nothing, so the lower end is 0.
  if (range === null) return { estimate: text, low: '0', high: text, basis: 'request' };
  const low = (estimate * BigInt(Math.floor(range.low * Number(MILLION)))) / MILLION;
  const high = (estimate * BigInt(Math.ceil(range.high * Number(MILLION))) + MILLION - 1n) / MILLION;
  return { estimate: text, low: formatUsd(low), high: formatUsd(high), basis: 'history' };
}

function quoteFinish({ lane, expectedMs, past }: QuoteFacts): StoredQuote['finish'] {
  if (expectedMs === null) return { expected_ms: null, low_ms: 0, high_ms: WINDOW_MS, basis: 'window' };
  const ratios = past.filter((batch) => batch.lane === lane).flatMap(({ finishRatio }) => finishRatio ?? []);
  const range = rangeOfNext(ratios);
  if (range !== null) return within(expectedMs, range.low * expectedMs, range.high * expectedMs, 'history');
  if (lane === 'native') return within(expectedMs, 0, WINDOW_MS, 'window');
  return within(expectedMs, expectedMs / UNPROVEN_FACTOR, expectedMs * UNPROVEN_FACTOR + UNPROVEN_MS, 'throughput');
}

function within(
  expectedMs: number,
  lowMs: number,
  highMs: number,
  basis: StoredQuote['finish']['basis'],
): StoredQuote['finish'] {
  const clamp = (value: number): number => Math.min(WINDOW_MS, Math.round(value));
  return { expected_ms: Math.round(expectedMs), low_ms: clamp(lowMs), high_ms: clamp(highMs), basis };
}
