import type { PicoUsd } from '@libs/inference';

export const CAUSES = [
  'tier',
  'long_context',
  'cache_write',
  'retry',
  'abandoned_call',
  'orphan_batch',
  'estimated_usage',
  'tool_use',
  'price',
  'missing_at_provider',
  'unknown',
] as const;

export type DifferenceCause = (typeof CAUSES)[number];

/** One reason why a provider's charge is not what Sluice recorded. */
export interface ChargeDifference {
  readonly day: string;
  /** `-` for charges that belong to no model. */
  readonly model: string;
  /** The provider's id of the key, or of all keys that it charged, between commas; `-` where its report names none. */
  readonly key: string;
  readonly cause: DifferenceCause;
  /** What the provider charged above the record; below zero where it charged less. */
  readonly amount: PicoUsd;
  /** What the cause was deduced from. */
  readonly detail: string;
}

/** A cause with its amount, before it is given its day and model. */
export type ExplainedPart = Pick<ChargeDifference, 'cause' | 'amount' | 'detail'>;
