/** Where a batch runs: as single calls by our workers, or at its provider's own batch API. */
export type BatchLane = 'managed' | 'native';

/** `history`: from finished batches of the same kind. `request`: only from its lines. */
export type CostBasis = 'history' | 'request';

/** `throughput`: only from the speed of the workers. `window`: nothing is known except the 24 hours. */
export type FinishBasis = 'history' | 'throughput' | 'window';

/** A quote as it is stored with its batch. Amounts are exact decimal strings in US dollars. */
export interface StoredQuote {
  readonly lane: BatchLane;
  /** Whether the provider would be called with a key of the caller's own. */
  readonly own_key: boolean;
  readonly cost: {
    /** The most that the lines cost according to their content; later batches compare their bill with it. */
    readonly estimate: string;
    readonly low: string;
    readonly high: string;
    readonly basis: CostBasis;
  };
  /** Milliseconds from the acceptance to the end. */
  readonly finish: {
    /** Expected duration, with which later batches compare theirs; null if unknown. */
    readonly expected_ms: number | null;
    readonly low_ms: number;
    readonly high_ms: number;
    readonly basis: FinishBasis;
  };
}

/** A quote as its caller sees it. */
export interface BatchQuote {
  readonly lane: BatchLane;
  readonly costLowUsd: string;
  readonly costHighUsd: string;
  readonly costBasis: CostBasis;
  /** Unix seconds. */
  readonly earliest: number;
  readonly latest: number;
  readonly finishBasis: FinishBasis;
}

/** @param createdAt Unix seconds, with their fraction */
export function toBatchQuote({ lane, cost, finish }: StoredQuote, createdAt: number): BatchQuote {
  return {
    lane,
    costLowUsd: cost.low,
    costHighUsd: cost.high,
    costBasis: cost.basis,
    earliest: Math.floor(createdAt + finish.low_ms / 1_000),
    latest: Math.ceil(createdAt + finish.high_ms / 1_000),
    finishBasis: finish.basis,
  };
}
