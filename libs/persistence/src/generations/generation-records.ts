import type { KeyLimit, SpendingLimit } from '../ledger/key-limit';

/** A synchronous call that is about to be sent upstream. Amounts are exact decimal strings in US dollars. */
export interface GenerationOpening {
  readonly id: string;
  /** UTC day named by the id, `YYYY-MM-DD`. */
  readonly createdOn: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash: string;
  readonly api: string;
  readonly model: string;
  readonly streamed: boolean;
  readonly holdUsd: string;
  /** Null: the key may spend everything that its organization has. */
  readonly keyLimit: KeyLimit | null;
  /** Budgets of the workspace, which must all cover the hold; absent if it has none. */
  readonly budgets?: readonly SpendingLimit[] | undefined;
}

/** The fields of an opening that are needed only to open it. */
export type OpeningTerms = 'holdUsd' | 'keyLimit' | 'budgets';

/** One call to a provider. */
export interface GenerationAttempt {
  /** Slugs. */
  readonly model: string;
  readonly provider: string;
  /** 200, or the status of the error. */
  readonly status: number;
  readonly latencyMs: number;
  readonly isByok?: true | undefined;
}

/** A call to a model with the operator's key that was made for a call with a row of its own. */
export interface AskedCall {
  /** Slug. */
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
  readonly promptTokens: number;
  readonly cachedTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  /** The part of them that was written to one-hour caches. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly completionTokens: number;
  readonly serviceTier?: string | undefined;
  /** List price, as a decimal string in US dollars. */
  readonly costUsd: string;
  /** The part of it for each tool that the provider ran. */
  readonly providerTools?: Readonly<Record<string, string>> | undefined;
  /** The provider has not reported the tokens. */
  readonly isEstimated?: true | undefined;
}

/** Web searches that the gateway made for a call. */
export interface GenerationSearch {
  /** Name of the engine; of several, the first. */
  readonly engine: string;
  /** Number of results of all searches. */
  readonly results: number;
}

/**
 * Further facts about a finished call. Unknown, empty and false fields are absent, so that a plain call is a short row.
 * Texts contain no NUL, which PostgreSQL could not store.
 */
export interface GenerationDetails {
  readonly requestId?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly origin?: string | undefined;
  readonly httpReferer?: string | undefined;
  readonly appTitle?: string | undefined;
  readonly sessionId?: string | undefined;
  /** The caller's own trace. */
  readonly trace?: Readonly<Record<string, string>> | undefined;
  /** SHA-256 of the caller's id for its end user, in hexadecimal. */
  readonly externalUser?: string | undefined;
  /** Number of prompt parts that are not text; below, how many of them are sound. */
  readonly mediaParts?: number | undefined;
  readonly audioParts?: number | undefined;
  /** All calls to providers, in their order. */
  readonly attempts: readonly GenerationAttempt[];
  readonly nativeFinishReason?: string | undefined;
  readonly serviceTier?: string | undefined;
  readonly isByok?: true | undefined;
  /** What the caller's own provider charges for it. Amounts are decimal strings in US dollars. */
  readonly upstreamCostUsd?: string | undefined;
  readonly cacheDiscountUsd?: string | undefined;
  /** Prompt tokens that were written to caches of the provider. */
  readonly cacheWriteTokens?: number | undefined;
  /** The part of them that was written to one-hour caches. */
  readonly cacheWrite1hTokens?: number | undefined;
  /** Parts of the cost: for tools that the provider ran, and (`gatewayToolsUsd`) for tools that the gateway ran. */
  readonly providerToolsUsd?: string | undefined;
  /** The part of `providerToolsUsd` for each tool. */
  readonly providerTools?: Readonly<Record<string, string>> | undefined;
  readonly gatewayToolsUsd?: string | undefined;
  /** Calls to models that plugins and gateway tools made; their cost is in the cost of this call. */
  readonly asked?: readonly AskedCall[] | undefined;
  /**
   * The turns of a tool loop that ran on the operator's key; present only if the turns ran on different keys or at
   * different endpoints, which the other fields cannot show.
   */
  readonly turns?: readonly AskedCall[] | undefined;
  /** Pages that a gateway tool read for the model; absent if the call had no gateway tools. */
  readonly fetches?: number | undefined;
  /** Absent if the gateway made none; a provider's own searches are not included. */
  readonly search?: GenerationSearch | undefined;
}

/** The end of a call. */
export interface GenerationSettlement extends Omit<GenerationOpening, OpeningTerms> {
  readonly provider: string | null;
  readonly upstreamModel: string | null;
  readonly upstreamId: string | null;
  readonly statusCode: number;
  readonly outcome: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly finishReason: string | null;
  readonly usageProvenance: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly costUsd: string;
  /** The part of `costUsd` that is the fee for an own key, which an allowance may waive completely or in part. */
  readonly byokFeeUsd?: string | undefined;
  readonly latencyMs: number | null;
  readonly generationMs: number | null;
  readonly details: GenerationDetails;
}
