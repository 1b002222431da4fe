import { AppError } from '@libs/errors';
import type { Api, Catalogue, Endpoint, Model } from './catalogue';
import type { OwnCredential, ProviderFilter } from './credential-source';
import type { HealthView } from './provider-health';
import type { StatisticsView } from './provider-statistics';
import type { Contender } from './route-contender';
import { ownKeysFor } from './route-credentials';
import { hardFilters, OTHER_TIER, type HardFilter } from './route-filters';
import { isOfVariant, resolveModel, type NamedBy, type ResolvedModel } from './route-model';
import { orderContenders, type OrderWish } from './route-order';
import { refusal, restingRefusal, type Reason, type Rest } from './route-refusal';
import type { RouteRequest } from './route-request';
import { sortOfGroup, tierRank, tierWishOf, type TierWish } from './route-tiers';
import type { StickyView } from './sticky-routes';

export type { RouteFacts, RoutePolicy, RouteRequest, RoutingPreferences, SortKey } from './route-request';

/** What a plan is made from beside the request. */
export interface RouteWorld {
  readonly catalogue: Catalogue;
  readonly health: HealthView;
  /** Whether shared capacity of a provider can be called. */
  readonly isAvailable: ProviderFilter;
  /** From 0 to below 1. */
  readonly dice: () => number;
  /** Whether a provider can be called with a key of the caller's own; every provider when absent. */
  readonly isSpoken?: ProviderFilter;
  /** Whether an endpoint can serve an API; when absent, whether it speaks it natively. */
  readonly canServe?: (endpoint: Endpoint, api: Api) => boolean;
  /** Keys that the caller brought along. */
  readonly credentials?: readonly OwnCredential[];
  readonly statistics?: StatisticsView;
  readonly sticky?: StickyView;
}

/** One endpoint to try, and the model it serves. */
export interface Candidate {
  readonly model: Model;
  readonly endpoint: Endpoint;
  /** The caller's own key to call it with; absent and null mean the shared one. */
  readonly credential?: OwnCredential | null;
}

/** An endpoint that could serve one of the models. */
export interface ConsideredEndpoint {
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly credential: OwnCredential | null;
  /** The member of the request or the condition that ruled it out; null: it is among the candidates. */
  readonly excludedBy: string | null;
}

export interface RoutePlan {
  /** To be tried in this order; never empty. */
  readonly candidates: readonly Candidate[];
  readonly considered: readonly ConsideredEndpoint[];
  /** The first model as the request named it. */
  readonly requested: string;
  /** The slug it stands for; null when there is no such model. */
  readonly resolved: string | null;
  readonly namedBy: NamedBy;
}

/** The endpoints of one model that may be called, and how to order them. */
interface Field {
  readonly contenders: readonly Contender[];
  readonly wish: OrderWish;
}

/**
 * The endpoints to try, in order. Pure: the same arguments, health and dice give the same plan.
 *
 * For each model the endpoints that can serve the API are gathered, each once for shared capacity and once
 * for every own key that fits; hard filters take away what must not serve; what rests is left out; the rest
 * is ordered. A model that nothing is left of is passed over while another is named.
 *
 * Throws, when nothing is left at all, what is to be said of the first model, with `metadata.availability`:
 * `invalid_request` (400) for an unknown model or one that cannot serve the API, `permission_denied` (403)
 * where the policy forbids every endpoint, `not_found` (404) where the preferences do, `rate_limit_exceeded`
 * (429) and `provider_overloaded` (503) with a time to come back where all that is left rests.
 */
export function planRoute(request: RouteRequest, world: RouteWorld): RoutePlan {
  const wanted = [...new Set([request.model, ...(request.models ?? [])])];
  const first = resolveModel(request.model, world.catalogue);
  const considered: Contender[] = [];
  const filters = hardFilters(request);
  const fields: Field[] = [];
  let refused: AppError | null = null;
  for (const slug of wanted) {
    const field = fieldOf(slug, request, { ...world, filters, considered });
    if (field instanceof AppError) refused ??= field;
    else fields.push(field);
  }
  if (fields.length === 0) throw refused ?? new AppError('server', 'Internal error', { internal: 'no model to plan' });
  return {
    candidates: orderFields(fields, request, world),
    considered,
    requested: request.model,
    resolved: first.model?.slug ?? null,
    namedBy: first.model === null ? 'direct' : first.namedBy,
  };
}

interface FieldWorld extends RouteWorld {
  readonly filters: readonly HardFilter[];
  /** Gets every contender of every model. */
  readonly considered: Contender[];
}

function fieldOf(slug: string, request: RouteRequest, world: FieldWorld): Field | AppError {
  const resolved = resolveModel(slug, world.catalogue);
  if (resolved.model === null) {
    const { code, message } = resolved;
    return refusal({ error: 'invalid_request', code, message }, [slug]);
  }
  const { model, variant } = resolved;
  const canServe = world.canServe ?? ((endpoint, api) => endpoint.apis.includes(api));
  const serving = model.endpoints.filter(
    (endpoint) => canServe(endpoint, request.api) && isOfVariant(model, endpoint, variant),
  );
  if (serving.length === 0) return refusal(WRONG_ENDPOINT, [slug]);
  const tiers = tierWishOf(request, resolved.admits, serving);
  const contenders = contendersOf(model, serving, tiers, request, world);
  if (contenders.length === 0) return refusal(NO_ENDPOINTS, [slug], providersOf(serving));
  world.considered.push(...contenders);
  const left = filtered(contenders, [...world.filters, TIER_FILTER], slug);
  if (left instanceof AppError) return left;
  const awake = withoutResting(left, slug, world.health);
  return awake instanceof AppError ? awake : { contenders: awake, wish: orderWishOf(request, resolved, tiers) };
}

const WRONG_ENDPOINT: Reason = {
  error: 'invalid_request',
  code: 'wrong_endpoint',
  message: 'The model cannot be used with this endpoint',
};
const NO_ENDPOINTS: Reason = {
  error: 'not_found',
  code: 'no_endpoints',
  message: 'No provider of the model is available',
};
/** Stands for an endpoint whose tier must not serve. */
const NO_RANK = -1;
const TIER_FILTER: HardFilter = { reason: OTHER_TIER, keeps: (contender) => contender.tierRank !== NO_RANK };

function contendersOf(
  model: Model,
  endpoints: readonly Endpoint[],
  tiers: TierWish,
  { scope = {} }: RouteRequest,
  { credentials = [], isAvailable, isSpoken }: RouteWorld,
): Contender[] {
  const own = ownKeysFor(model, endpoints, credentials, scope);
  return endpoints.flatMap((endpoint) => {
    const keys = isSpoken === undefined || isSpoken(endpoint.provider) ? own.keysFor(endpoint) : [];
    const isShared = isAvailable(endpoint.provider) && own.isSharedAllowed(endpoint);
    const rank = tierRank(endpoint, tiers) ?? NO_RANK;
    return [...keys, ...(isShared ? [null] : [])].map((credential) => ({
      model,
      endpoint,
      credential,
      tierRank: rank,
      excludedBy: null,
    }));
  });
}

/** What passes all filters, or the refusal of the one that left nothing over. */
function filtered(contenders: Contender[], filters: readonly HardFilter[], slug: string): Contender[] | AppError {
  let left = contenders;
  for (const { reason, keeps } of filters) {
    const kept = left.filter(keeps);
    if (kept.length === left.length) continue;
    const dropped = left.filter((contender) => !kept.includes(contender));
    for (const one of dropped) one.excludedBy = reason.constraint?.field ?? reason.excludedBy ?? reason.code;
    if (kept.length === 0) return refusal(reason, [slug], providersOf(left.map(({ endpoint }) => endpoint)));
    left = kept;
  }
  return left;
}

function withoutResting(contenders: Contender[], slug: string, health: HealthView): Contender[] | AppError {
  const rests: Rest[] = [];
  const awake = contenders.filter((contender) => {
    const rest = health.restOf(contender.endpoint, contender.credential);
    if (rest === null) return true;
    rests.push(rest);
    contender.excludedBy = rest.because;
    return false;
  });
  return awake.length > 0
    ? awake
    : restingRefusal([slug], providersOf(contenders.map(({ endpoint }) => endpoint)), rests);
}

function providersOf(endpoints: readonly Endpoint[]): readonly string[] {
  return endpoints.map(({ provider }) => provider.name);
}

/** Parameters for which an endpoint that knows them is preferred, whatever it costs. */
const FEATURES: readonly string[] = ['tools', 'response_format', 'structured_outputs', 'verbosity'];

function orderWishOf(request: RouteRequest, { sort }: ResolvedModel, tiers: TierWish): OrderWish {
  const { preferences = {}, parameters = [] } = request;
  return {
    api: request.api,
    order: preferences.order ?? null,
    sort: preferences.sort ?? sort,
    sortOfTier: (rank) => sortOfGroup(tiers, rank),
    features: parameters.filter((name) => FEATURES.includes(name)),
    minThroughput: preferences.preferredMinThroughput ?? null,
    maxLatency: preferences.preferredMaxLatency ?? null,
    estimatedPromptTokens: request.estimatedPromptTokens ?? 0,
    stickyKey: request.stickyKey ?? null,
  };
}

/** Model by model, or all together where the request wants no partition. */
function orderFields(fields: readonly Field[], { preferences }: RouteRequest, world: RouteWorld): Candidate[] {
  const { health, dice, statistics = null, sticky = null } = world;
  const isOneField = preferences?.partition === 'none' && fields.length > 1;
  const partitions = isOneField
    ? [{ contenders: fields.flatMap(({ contenders }) => contenders), wish: fields[0]!.wish }]
    : fields;
  const isFirstOnly = preferences?.allowFallbacks === false && !preferences.order;
  return partitions.flatMap(({ contenders, wish }) => {
    const ordered = orderContenders(contenders, wish, { health, dice, statistics, sticky });
    return (isFirstOnly ? ordered.slice(0, 1) : ordered).map(({ model, endpoint, credential }) => ({
      model,
      endpoint,
      credential,
    }));
  });
}
