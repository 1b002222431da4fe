import type { PriceList } from '../pricing/price';
import type { ListedPrices } from './listed-prices';
import type { ModelCard } from './model-card';

/** How batches run on a provider: through its own batch API, as single calls by our workers, or not at all. */
export type BatchSupport = 'native' | 'managed' | 'none';

/**
 * Price of a cached token in a provider's batch: half the normal cached price, the full cached price, or the price of
 * an uncached token.
 */
export type BatchCacheReads = 'half' | 'full' | 'uncached';

/** What a provider, or one of its endpoints, does with prompts. */
export interface DataPolicy {
  readonly retainsPrompts: boolean;
  readonly trainsOnPrompts: boolean;
  readonly zdr: boolean;
}

export interface Provider {
  readonly slug: string;
  readonly name: string;
  /** Base URL with the version prefix and without a trailing slash; the adapter appends `/chat/completions`, … */
  readonly baseUrl: string;
  /** The adapter that speaks to it. */
  readonly protocol: string;
  /** The environment variable with the shared key; null if the file names none. */
  readonly apiKeyEnv: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly regions: readonly string[];
  readonly dataPolicy: DataPolicy;
  readonly batch: BatchSupport;
  /** `half` when absent. */
  readonly batchCacheReads?: BatchCacheReads;
  /** Shared-capacity calls in flight per process. */
  readonly maxConcurrency: number;
  /** Patterns of hosts that callers' own keys may name, in addition to those of the protocol. */
  readonly ownKeyHosts?: readonly string[];
  /**
   * True if a caller's own key chose the host. Such a host is reached only through the guard of outgoing connections.
   */
  readonly isOwnPlace?: boolean;
}

export const APIS = ['chat', 'responses', 'messages', 'embeddings', 'transcription', 'video'] as const;

/** An API that an endpoint speaks natively. */
export type Api = (typeof APIS)[number];

/** One way to reach a model: a provider, the provider's name for the model, and its prices. */
export interface Endpoint {
  readonly provider: Provider;
  readonly upstreamModel: string;
  /** Endpoints of the provider with the same group share one rate limit; null: the upstream model has its own. */
  readonly quotaGroup: string | null;
  readonly apis: readonly Api[];
  readonly pricing: PriceList;
  readonly batchPricing: PriceList;
  /** Context length in tokens; null if the input is not limited by tokens, e.g. for video. */
  readonly contextLength: number | null;
  readonly maxCompletionTokens: number | null;
  readonly quantization: string;
  readonly region: string;
  readonly zdr: boolean;
  /**
   * Supported parameters by the API's names: from `capabilities: { supported_parameters }`, else those of the model,
   * else none.
   */
  readonly supportedParameters: readonly string[];
  /** Free-form, per API, e.g. `transcription: { diarize: true }`. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** The prices under the names in the catalogue file, for `GET /models`. */
  readonly listedPricing: ListedPrices;
  /** The batch prices under the names in the catalogue file, for `GET /models`. */
  readonly listedBatchPricing: ListedPrices;
}

export interface Architecture {
  readonly inputModalities: readonly string[];
  readonly outputModalities: readonly string[];
  readonly tokenizer: string;
  readonly instructType: string | null;
}

export interface Model {
  /** `<vendor>/<model>`, never ending in `:batch`. */
  readonly slug: string;
  /** Other names that callers may use for the model. */
  readonly aliases?: readonly string[];
  readonly name: string;
  readonly description: string;
  /** Unix seconds. */
  readonly created: number;
  /** The last day that the model's training data covers, if its maker publishes it. */
  readonly knowledgeCutoff: string | null;
  /** The first day, in UTC, on which the model is no longer served; null if none is set. */
  readonly expirationDate: string | null;
  readonly card: ModelCard;
  readonly contextLength: number | null;
  readonly architecture: Architecture;
  readonly supportedParameters: readonly string[];
  /** At least one endpoint, in file order. */
  readonly endpoints: readonly Endpoint[];
}
