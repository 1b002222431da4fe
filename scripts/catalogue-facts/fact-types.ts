/** Facts that the price data does not hold, typed in from the providers' own documentation. */

export interface ProviderFacts {
  readonly slug: string;
  readonly name: string;
  readonly baseUrl: string;
  readonly protocol: string;
  /** null where the provider asks for no key. */
  readonly apiKeyEnv: string | null;
  /** The provider in the price data; absent where all prices come from rows of ours. */
  readonly source?: string;
  /** Stands before the model's id in the provider's own naming. */
  readonly upstreamPrefix?: string;
  readonly batch?: 'native' | 'none';
  readonly regions?: readonly string[];
  /** What is not known to be better counts as: keeps prompts, does not train on them. */
  readonly retainsPrompts?: false;
  readonly trainsOnPrompts?: true;
  readonly maxConcurrency?: number;
  /** APIs of its chat models; `chat` alone when absent. */
  readonly chatApis?: readonly string[];
  /** The same for models of one family. */
  readonly apisByFamily?: Readonly<Record<string, readonly string[]>>;
  /** What its tools cost by the use, where the price data does not say: US dollars, exact. */
  readonly toolPricing?: Readonly<Record<string, string>>;
}

/**
 * An endpoint in one line: `<provider> <id>[@<source>] [<upstream model>]`. The id is the model's in the
 * price data of the provider, or of another source after `@`; it is also the upstream's name for the model
 * unless a third word says otherwise. For a provider that the data does not have, `=<prompt>/<completion>`
 * stands for the id: exact US dollars per million tokens.
 */
export type EndpointLine = string;

export interface ChatFacts {
  readonly slug: string;
  readonly name: string;
  /** Day of release; absent where unknown. */
  readonly released?: string;
  readonly family: string;
  readonly input?: readonly string[];
  readonly output?: readonly string[];
  /** Where the price data does not say. */
  readonly contextLength?: number;
  readonly maxCompletionTokens?: number;
  /** Instead of the provider's. */
  readonly apis?: readonly string[];
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly endpoints: readonly EndpointLine[];
}

/** An endpoint of a model that is not priced in the data, or whose capabilities must be named. */
export interface MediaEndpointFacts {
  readonly provider: string;
  readonly upstreamModel: string;
  /** Decimal strings as in the catalogue; absent: taken from the data at `priced`. */
  readonly pricing?: Readonly<Record<string, string>>;
  /** US dollars per minute or hour of audio, exact. */
  readonly perMinute?: string;
  readonly perHour?: string;
  /** `<id>[@<source>]` in the price data. */
  readonly priced?: string;
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

export interface MediaFacts {
  readonly slug: string;
  readonly name: string;
  readonly api: 'embeddings' | 'transcription' | 'video';
  readonly released?: string;
  readonly input: readonly string[];
  readonly contextLength?: number;
  readonly endpoints: readonly MediaEndpointFacts[];
}
