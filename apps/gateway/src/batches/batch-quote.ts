import { formatUsd, type PicoUsd } from '@libs/inference';
import type { BatchLane, QuotedBatch, StoredQuote } from '@libs/persistence';
import { LEAST_PAST, rangeOfNext } from './quote-range';

export interface QuoteFacts {
  readonly workspaceId: string;
  readonly lane: BatchLane;
  readonly ownKey: boolean;
  /** The most that the lines cost, as far as they say. */
  readonly estimate: PicoUsd;
  /** In milliseconds, at the current speed; null if it is unknown. */
  readonly expectedMs: number | null;
  /** Finished batches of the same kind. */
  readonly past: readonly QuotedBatch[];
}

const WINDOW_MS = 24 * 3_600_000;
/** A forecast without finished batches to compare with may be wrong by this factor, and by this much on top. */
const UNPROVEN_FACTOR = 4;
const UNPROVEN_MS = 60_000;
/** Ratios are applied in millionths, so that money stays a whole number of pico-dollars. */
const MILLION = 1_000_000n;

/**
 * What a batch will cost and when it will be over, four times out of five.
 *
 * What is expected is set right by what became of earlier expectations: how bills of finished batches compared with
 * their estimates, and durations with what the lane's speed had promised. So the intervals are as wide as the
 * errors of the past were. Where there are too few of these, they are as wide as they must be.
 */
export function quoteBatch(facts: QuoteFacts): StoredQuote {
  return { lane: facts.lane, own_key: facts.ownKey, cost: quoteCost(facts), finish: quoteFinish(facts) };
}

function quoteCost({ workspaceId, ownKey, estimate, past }: QuoteFacts): StoredQuote['cost'] {
  const alike = past.filter((batch) => batch.ownKey === ownKey && batch.costRatio !== null);
  // A caller's batches resemble one another more than those of others.
  const own = alike.filter((batch) => batch.workspaceId === workspaceId);
  const range = rangeOfNext((own.length >= LEAST_PAST ? own : alike).map(({ costRatio }) => costRatio!));
  const text = formatUsd(estimate);
  // Nothing is charged for lines that fail.
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
