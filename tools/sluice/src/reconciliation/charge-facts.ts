import type { PicoUsd } from '@libs/inference';
import type { TokenClass, TokenCounts } from './token-counts';

/** Calls that a provider prices alike. */
export interface PriceCell {
  /** `standard`, `priority`, `flex`, or the provider's own word for a tier that Sluice does not know. */
  readonly tier: string;
  /** Priced as a long prompt; null if the provider's report does not say. */
  readonly isLong: boolean | null;
  readonly isBatch: boolean;
}

/** What a provider counted on one day for one model. */
export interface ReportedUsage extends PriceCell {
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly model: string;
  /** The provider's id of the key; null if the report does not name one. */
  readonly key: string | null;
  /** Null if the report does not count requests. */
  readonly requests: bigint | null;
  readonly tokens: TokenCounts;
}

/** One amount that a provider charged. */
export interface ReportedCost {
  readonly day: string;
  /** Null for a charge without a model, such as one for web searches. */
  readonly model: string | null;
  /** The provider's own name for what was charged. */
  readonly item: string;
  /** Null if the amount is not for one class of tokens. */
  readonly tokenClass: TokenClass | null;
  /** The provider's id of the key; null if the report has no amounts by key. */
  readonly key: string | null;
  /** A tool that the provider ran, by its catalogue name; null for tokens and everything else. */
  readonly tool: string | null;
  readonly amount: PicoUsd;
}

/** Everything that a provider reports about some days. */
export interface ChargeReport {
  readonly usage: readonly ReportedUsage[];
  readonly costs: readonly ReportedCost[];
}

/** What Sluice recorded for one day, model and price cell, for calls with the operator's own key. */
export interface RecordedUsage extends PriceCell {
  readonly day: string;
  readonly model: string;
  /** Null for calls of several turns, if a turn may have been long. */
  readonly isLong: boolean | null;
  readonly requests: bigint;
  /** Number of calls among them whose tokens Sluice estimated or knows only in part. */
  readonly estimated: bigint;
  readonly tokens: TokenCounts;
  /** The most prompt and completion tokens of one request among them; 0 if unknown. */
  readonly longestPrompt: bigint;
  readonly longestOutput: bigint;
  /** List price, without tools of the gateway. */
  readonly cost: PicoUsd;
  /** The part of `cost` for tools that the provider ran. */
  readonly toolCost: PicoUsd;
}

/** The recorded cost of one tool of the provider, on one day and for one model. */
export interface RecordedTool {
  readonly day: string;
  /** The provider's name. */
  readonly model: string;
  /** Name of the tool in the catalogue; null if the record does not name it. */
  readonly tool: string | null;
  readonly cost: PicoUsd;
}

/** Calls of one day that the provider may have charged and Sluice has no usage for. */
export interface UnpaidWork {
  readonly day: string;
  /** The provider's name of the model. */
  readonly model: string;
  readonly failedAttempts: bigint;
  readonly abandonedCalls: bigint;
  readonly orphanRequests: bigint;
}

export interface RecordedCharges {
  readonly usage: readonly RecordedUsage[];
  readonly tools: readonly RecordedTool[];
  readonly unpaid: readonly UnpaidWork[];
}
