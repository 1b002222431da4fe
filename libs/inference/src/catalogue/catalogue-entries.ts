import type { PriceList } from '../pricing/price';
import type { ListedPrices } from './listed-prices';
import type { ModelCard } from './model-card';

/** How batches run on a provider: through its own batch API, line by line by us, or not at all. */
export type BatchSupport = 'native' | 'managed' | 'none';

/** What a cached token costs in a batch of the provider: half as others do, as outside of batches, or as one not cached. */
export type BatchCacheReads = 'half' | 'full' | 'uncached';

/** What happens to prompts at a provider, or at one endpoint of it. */
export interface DataPolicy {
  readonly retainsPrompts: boolean;
  readonly trainsOnPrompts: boolean;
  readonly zdr: boolean;
}

export interface Provider {
  readonly slug: string;
  readonly name: string;
  /** With the version prefix and without a trailing slash; the adapter appends `/chat/completions`, … */
  readonly baseUrl: string;
  /** The adapter that speaks to it. */
  readonly protocol: string;
  /** The environment variable with the shared key; null when the file names none. */
  readonly apiKeyEnv: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly regions: readonly string[];
  readonly dataPolicy: DataPolicy;
  readonly batch: BatchSupport;
  /** `half` when absent. */
  readonly batchCacheReads?: BatchCacheReads;
  /** Shared-capacity calls in flight per process. */
  readonly maxConcurrency: number;
  /** Patterns of hosts that callers' own keys may name in addition to those of the protocol. */
  readonly ownKeyHosts?: readonly string[];
  /** Set where a caller's own key chose the host: it is reached through the guard of outgoing connections only. */
  readonly isOwnPlace?: boolean;
}

export const APIS = ['chat', 'responses', 'messages', 'embeddings', 'transcription', 'video'] as const;

/** An API that an endpoint speaks natively. */
export type Api = (typeof APIS)[number];

/** One way to reach a model: a provider, its name for the model, and what it charges. */
export interface Endpoint {
  readonly provider: Provider;
  readonly upstreamModel: string;
  /** Endpoints of the provider with the same group share one limit of rates; null: the upstream model has its own. */
  readonly quotaGroup: string | null;
  readonly apis: readonly Api[];
  readonly pricing: PriceList;
  readonly batchPricing: PriceList;
  /** In tokens; null where tokens do not bound the input, e.g. video. */
  readonly contextLength: number | null;
  readonly maxCompletionTokens: number | null;
  readonly quantization: string;
  readonly region: string;
  readonly zdr: boolean;
  /** Under the interface's names: its own (`capabilities: { supported_parameters }`), else its model's, else none. */
  readonly supportedParameters: readonly string[];
  /** Free-form, per API, e.g. `transcription: { diarize: true }`. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Under the names of the file, for listings. */
  readonly listedPricing: ListedPrices;
  /** The same for `batchPricing`. */
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
  /** Other names that callers may use; none when absent. */
  readonly aliases?: readonly string[];
  readonly name: string;
  readonly description: string;
  /** Unix seconds. */
  readonly created: number;
  /** The day up to which it knows the world, where its maker says. */
  readonly knowledgeCutoff: string | null;
  /** The first day on which it is not served any more, in UTC; null where none is set. */
  readonly expirationDate: string | null;
  readonly card: ModelCard;
  readonly contextLength: number | null;
  readonly architecture: Architecture;
  readonly supportedParameters: readonly string[];
  /** At least one, in file order. */
  readonly endpoints: readonly Endpoint[];
}
