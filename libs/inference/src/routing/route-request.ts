import type { ProviderTool } from '../pricing/tool-uses';
import type { Rate } from '../pricing/money';
import type { Api } from '../catalogue/catalogue';
import type { EndpointNeed } from '../model/endpoint-need';
import type { CredentialScope } from './credential-source';

export type SortKey = 'price' | 'throughput' | 'latency' | 'exacto';

export const PERCENTILES = ['p50', 'p75', 'p90', 'p99'] as const;
export type Percentile = (typeof PERCENTILES)[number];

/** Every percentile that is named must be met. */
export type Cutoffs = Readonly<Partial<Record<Percentile, number>>>;

/** The most an endpoint may charge. What an endpoint does not charge for costs nothing. */
export interface MaxPrice {
  /** In 10^-18 USD per million tokens, like the next two. */
  readonly promptPerMillion?: Rate;
  readonly completionPerMillion?: Rate;
  readonly audioPerMillion?: Rate;
  /** Per image of the prompt. */
  readonly image?: Rate;
  readonly request?: Rate;
}

/**
 * The routing part of `provider` in a request, already checked. Providers are named by slug or
 * display name in any case: a plain slug names all regions and variants, a suffixed one only itself.
 */
export interface RoutingPreferences {
  /** These first, in this order; nothing is balanced then. */
  readonly order?: readonly string[] | null;
  readonly only?: readonly string[] | null;
  readonly ignore?: readonly string[] | null;
  /** False: only the first endpoint of a model, or only those of `order`. */
  readonly allowFallbacks?: boolean | null;
  /** Only endpoints that know every parameter of the request. */
  readonly requireParameters?: boolean | null;
  /** `deny`: only endpoints that neither keep prompts nor train on them. */
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
  /** By provider slug: members for the provider that serves, passed on by some APIs. */
  readonly options?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | null;
}

/** What a workspace or key allows, whatever the request prefers. Absent and null forbid nothing. */
export interface RoutePolicy {
  /** Whose policy it is, for the refusal. */
  readonly owner?: 'workspace' | 'key';
  readonly allowedProviders?: readonly string[] | null;
  readonly ignoredProviders?: readonly string[] | null;
  /** Model slugs. */
  readonly allowedModels?: readonly string[] | null;
  readonly ignoredModels?: readonly string[] | null;
  /** Tools that providers or the gateway run. */
  readonly allowedTools?: readonly string[] | null;
  readonly ignoredTools?: readonly string[] | null;
  /** Regions that may serve, e.g. `europe`, `us`, `eu-west-1`; a region includes its parts. */
  readonly regions?: readonly string[] | null;
  readonly isZdrRequired?: boolean;
  readonly isDataCollectionDenied?: boolean;
}

/** What the body of a request asks of an endpoint, as `readRouteFacts` finds it. */
export interface RouteFacts {
  /** Parameters in use, under the names of a model's `supported_parameters`. */
  readonly parameters?: readonly string[];
  /** Other than text. */
  readonly inputModalities?: readonly string[];
  /** How many parts of the prompt are no text. */
  readonly mediaParts?: number;
  /** How many of those are sound. */
  readonly audioParts?: number;
  /** Whether one of them is given as a link. */
  readonly hasLinkedMedia?: boolean;
  /** Other than text. */
  readonly outputModalities?: readonly string[];
  readonly maxOutputTokens?: number | null;
  /** As in the request: auto, default, fast, flex, priority, scale, ultrafast. */
  readonly serviceTier?: string | null;
  /** That a provider or the gateway would run. */
  readonly tools?: readonly ProviderTool[];
  /** Path of a member that names something in the provider's account: only the caller's own credential may serve. */
  readonly accountReference?: string | null;
  /** A request for what no endpoint can do is wrong (400). */
  readonly needs?: readonly EndpointNeed[];
}

/** What names a conversation, made when it is asked for; null where nothing does. */
export type StickyKey = () => string | null;

export interface RouteRequest extends RouteFacts {
  readonly api: Api;
  /** With or without a suffix such as `:floor`. */
  readonly model: string;
  /** Tried in order after `model`. */
  readonly models?: readonly string[] | null;
  readonly preferences?: RoutingPreferences;
  /** The sort of a request that names neither a sort nor an order, by its preferences, its model's suffix or its tier. */
  readonly defaultSort?: SortKey | undefined;
  /** Every one of them must allow an endpoint. */
  readonly policies?: readonly RoutePolicy[];
  readonly estimatedPromptTokens?: number;
  /** False: endpoints that give fewer output tokens than are asked for are ruled out. */
  readonly capsOutput?: boolean;
  /** Keeps a conversation on one endpoint; asked only where there is a choice of endpoints. See `stickyKeyOf`. */
  readonly stickyKey?: StickyKey;
  /** Whose own keys may be used. */
  readonly scope?: CredentialScope;
}
