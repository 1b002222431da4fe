import type { ProviderTool } from '../pricing/tool-uses';
import type { Rate } from '../pricing/money';
import type { Api } from '../catalogue/catalogue';
import type { EndpointNeed } from '../model/endpoint-need';
import type { CredentialScope } from './credential-source';

export type SortKey = 'price' | 'throughput' | 'latency' | 'exacto';

export const PERCENTILES = ['p50', 'p75', 'p90', 'p99'] as const;
export type Percentile = (typeof PERCENTILES)[number];

/** All percentiles that are given must be met. */
export type Cutoffs = Readonly<Partial<Record<Percentile, number>>>;

/** Most that an endpoint may charge. A kind of usage that an endpoint does not charge for counts as 0. */
export interface MaxPrice {
  /** In 10^-18 USD per million tokens, like the next two fields. */
  readonly promptPerMillion?: Rate;
  readonly completionPerMillion?: Rate;
  readonly audioPerMillion?: Rate;
  /** Per image of the prompt. */
  readonly image?: Rate;
  readonly request?: Rate;
}

/**
 * The routing part of `provider` in a request, already validated. Providers are named by slug or display name, in upper
 * or lower case: a slug without a suffix names all regions and variants, one with a suffix only itself.
 */
export interface RoutingPreferences {
  /** Providers to try first, in this order; there is no load balancing then. */
  readonly order?: readonly string[] | null;
  readonly only?: readonly string[] | null;
  readonly ignore?: readonly string[] | null;
  /** False: only the first endpoint of a model, or only the endpoints in `order`. */
  readonly allowFallbacks?: boolean | null;
  /** True: only endpoints that support every parameter of the request. */
  readonly requireParameters?: boolean | null;
  /** `deny`: only endpoints that neither store prompts nor train on them. */
  readonly dataCollection?: 'allow' | 'deny' | null;
  readonly zdr?: boolean | null;
  readonly enforceDistillableText?: boolean | null;
  readonly quantizations?: readonly string[] | null;
  readonly sort?: SortKey | null;
  /** `none`: the endpoints of all models are ordered together. */
  readonly partition?: 'model' | 'none' | null;
  readonly maxPrice?: MaxPrice | null;
  /** Tokens per second. */
  readonly preferredMinThroughput?: Cutoffs | null;
  /** Seconds to the first token. */
  readonly preferredMaxLatency?: Cutoffs | null;
  /** Fields by provider slug, for the provider that serves. Only some APIs pass them on. */
  readonly options?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | null;
}

/** What a workspace or key allows, whatever the request prefers. Absent or null: no restriction. */
export interface RoutePolicy {
  /** The owner of the policy, for the error message. */
  readonly owner?: 'workspace' | 'key';
  readonly allowedProviders?: readonly string[] | null;
  readonly ignoredProviders?: readonly string[] | null;
  /** Model slugs. */
  readonly allowedModels?: readonly string[] | null;
  readonly ignoredModels?: readonly string[] | null;
  /** Tools that providers or the gateway run. */
  readonly allowedTools?: readonly string[] | null;
  readonly ignoredTools?: readonly string[] | null;
  /** Regions that may serve, e.g. `europe`, `us`, `eu-west-1`. A region includes its parts. */
  readonly regions?: readonly string[] | null;
  readonly isZdrRequired?: boolean;
  readonly isDataCollectionDenied?: boolean;
}

/** What the body of a request requires of an endpoint, as `readRouteFacts` returns it. */
export interface RouteFacts {
  /** Parameters that the request uses, by their names in a model's `supported_parameters`. */
  readonly parameters?: readonly string[];
  /** Other than text. */
  readonly inputModalities?: readonly string[];
  /** Number of prompt parts that are not text. */
  readonly mediaParts?: number;
  /** How many of those are sound. */
  readonly audioParts?: number;
  /** True if one of these parts is a link. */
  readonly hasLinkedMedia?: boolean;
  /** Other than text. */
  readonly outputModalities?: readonly string[];
  readonly maxOutputTokens?: number | null;
  /** The field of the request that has this number. Default: `max_tokens`. */
  readonly maxOutputTokensField?: string;
  /** The tier as in the request: auto, default, fast, flex, priority, scale, ultrafast. */
  readonly serviceTier?: string | null;
  /** Tools that a provider or the gateway would run. */
  readonly tools?: readonly ProviderTool[];
  /**
   * Path of a field that names an object in the provider's account. Only the caller's own credential may then serve.
   */
  readonly accountReference?: string | null;
  /** Capabilities that the request needs. If no endpoint has them, the request is invalid (400). */
  readonly needs?: readonly EndpointNeed[];
}

/** Returns the name of the conversation, computed on demand; null if nothing in the request identifies it. */
export type StickyKey = () => string | null;

export interface RouteRequest extends RouteFacts {
  readonly api: Api;
  /** Model name with or without a suffix such as `:floor`. */
  readonly model: string;
  /** Tried in order after `model`. */
  readonly models?: readonly string[] | null;
  readonly preferences?: RoutingPreferences;
  /**
   * Default sort for a request that sets neither a sort nor an order, in its preferences, its model's suffix or its
   * tier.
   */
  readonly defaultSort?: SortKey | undefined;
  /** Policies; every one of them must allow an endpoint. */
  readonly policies?: readonly RoutePolicy[];
  readonly estimatedPromptTokens?: number;
  /** False: endpoints that produce fewer output tokens than requested are ruled out. */
  readonly capsOutput?: boolean;
  /** Keeps a conversation on one endpoint; called only if there is a choice of endpoints. See `stickyKeyOf`. */
  readonly stickyKey?: StickyKey;
  /** Whose own keys may be used. */
  readonly scope?: CredentialScope;
}
