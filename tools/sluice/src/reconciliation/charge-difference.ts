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

/** One reason why a provider's charge differs from Sluice's record. */
export interface ChargeDifference {
  readonly day: string;
  /** `-` for charges that belong to no model. */
  readonly model: string;
  /**
   * The provider's id of the key, or the comma-separated ids of all keys that it charged; `-` if its report names none.
   */
  readonly key: string;
  readonly cause: DifferenceCause;
  /** What the provider charged above the record; negative if it charged less. */
  readonly amount: PicoUsd;
  /** The facts from which the cause was deduced. */
  readonly detail: string;
}

/** A cause with its amount, before its day and model are added. */
export type ExplainedPart = Pick<ChargeDifference, 'cause' | 'amount' | 'detail'>;
