import { AppError } from '@libs/errors';
import type { Api, Catalogue, Endpoint, Model } from '../catalogue/catalogue';
import type { OwnCredential, ProviderFilter } from './credential-source';
import type { HealthView } from './provider-health';
import type { StatisticsView } from './provider-statistics';
import { expiryOf } from './expired-model';
import { failedOnRoute } from './failed-route';
import type { Candidate, RoutePlan } from './planned-route';
import type { Contender } from './route-contender';
import { ownKeysFor } from './route-credentials';
import { hardFilters, OTHER_TIER, type LostMembers } from './route-filters';
import { isOfVariant, resolveModel, type ResolvedModel, type UnresolvedModel } from './route-model';
import { orderContenders, type OrderWish } from './route-order';
import type { HardFilter } from './route-policy';
import { onlineElsewhere, wrongEndpoint } from './wrong-endpoint';
import { refusal, restingRefusal, type Reason, type Rest } from './route-refusal';
import type { RouteRequest } from './route-request';
import { sortOfGroup, tierRank, tierWishOf, type TierWish } from './route-tiers';
import type { StickyView } from './sticky-routes';
import { repeatable } from './unknown-model';

export type { Candidate, ConsideredEndpoint, RoutePlan } from './planned-route';
export type { RouteFacts, RoutePolicy, RouteRequest, RoutingPreferences, SortKey, StickyKey } from './route-request';

/** Everything besides the request that a plan depends on. */
export interface RouteWorld {
  readonly catalogue: Catalogue;
  readonly health: HealthView;
  /** Returns whether the shared capacity of a provider can be used. */
  readonly isAvailable: ProviderFilter;
  /** Returns a random number from 0 (included) to 1 (excluded). */
  readonly dice: () => number;
  /** Returns whether a provider can be called with a caller's own key; absent: every provider can. */
  readonly isSpoken?: ProviderFilter;
  /** Returns whether an endpoint can serve an API; absent: whether it has the API natively. */
  readonly canServe?: (endpoint: Endpoint, api: Api) => boolean;
  /** Returns whether an endpoint accepts links to pictures and files; absent: every endpoint does. */
  readonly takesLinks?: (endpoint: Endpoint) => boolean;
  /** Returns the fields of this request that an endpoint would not be sent; called only if nothing may be lost. */
  readonly lostMembers?: LostMembers;
  /** Keys that the caller brought along. */
  readonly credentials?: readonly OwnCredential[];
  readonly statistics?: StatisticsView;
  readonly sticky?: StickyView;
  /** The current day in UTC, such as 2026-01-31; absent: no model has expired. */
  readonly today?: string;
  /** Region of the gateway, for the metadata. */
  readonly region?: string | null;
}

/** The endpoints of one model that may be called, and the facts by which they are ordered. */
interface Field {
  readonly contenders: readonly Contender[];
  readonly resolved: ResolvedModel;
  readonly tiers: TierWish;
}

/**
 * Returns the endpoints to try, in order. Pure: the same arguments, health and random numbers give the same plan.
 *
 * For each model it collects the endpoints that can serve the API, once for shared capacity and once for every own key
 * that fits. Hard filters remove the endpoints that must not serve. Endpoints that pause are left out. The rest is
 * ordered. A model without endpoints is skipped if the request names another one.
 *
 * If no endpoint is left at all, throws the error for the first model, with its `availability` and the plan so far
 * (`failedRouteOf`): `invalid_request` (400) for an unknown model or one that cannot serve the API, `not_found` (404)
 * for one that is no longer served, `permission_denied` (403) if a policy forbids every endpoint, `not_found` if the
 * preferences do, `rate_limit_exceeded` (429) and `provider_overloaded` (503) with a retry time if all remaining
 * endpoints pause.
 */
export function planRoute(request: RouteRequest, world: RouteWorld): RoutePlan {
  const { model } = request;
  const first = resolveModel(model, world.catalogue);
  const { fields, considered, refused } = fieldsOf(first, request, world);
  const plan: RoutePlan = {
    candidates: orderFields(fields, request, world),
    considered,
    requested: first.model === null ? repeatable(model) : model,
    resolved: first.model?.slug ?? null,
    namedBy: first.model === null ? 'direct' : first.namedBy,
    region: world.region ?? null,
  };
  if (fields.length > 0) return plan;
  throw failedOnRoute(refused ?? new AppError('server', 'Internal error', { internal: 'no model to plan' }), plan);
}

/** The endpoints to order, for each model. */
interface Fields {
  readonly fields: readonly Field[];
  readonly considered: readonly Contender[];
  /** Why the first of the skipped models cannot serve. */
  readonly refused: AppError | null;
}

/** `first` is the model that the request names first. */
function fieldsOf(first: ResolvedModel | UnresolvedModel, request: RouteRequest, world: RouteWorld): Fields {
  const { model, models } = request;
  const filters = hardFilters(request, world.lostMembers);
  const considered: Contender[] = [];
  const fields: Field[] = [];
  let refused: AppError | null = null;
  for (const slug of models?.length ? new Set([model, ...models]) : [model]) {
    const resolved = slug === model ? first : resolveModel(slug, world.catalogue);
    const field =
      resolved.model === null
        ? unknown(slug, resolved, world.catalogue)
        : fieldOf(slug, resolved, request, world, filters, considered);
    if (field instanceof AppError) refused ??= field;
    else fields.push(field);
  }
  return { fields, considered, refused };
}

function unknown(slug: string, { error, code, messageFor }: UnresolvedModel, catalogue: Catalogue): AppError {
  const message = messageFor(slug, catalogue);
  return refusal({ error, code, message }, [repeatable(slug)]);
}

/** Returns the endpoints of a model. All of its contenders are added to `considered`, even those that are ruled out. */
function fieldOf(
  slug: string,
  resolved: ResolvedModel,
  request: RouteRequest,
  world: RouteWorld,
  filters: readonly HardFilter[],
  considered: Contender[],
): Field | AppError {
  const { model, variant } = resolved;
  const { canServe = isNative, today = '' } = world;
  const unfit = unfitFor(request.api, resolved, today);
  if (unfit !== null) return refusal(unfit, [slug]);
  const serving = model.endpoints.filter(
    (endpoint) => canServe(endpoint, request.api) && isOfVariant(model, endpoint, variant),
  );
  if (serving.length === 0) return refusal(wrongEndpoint(request.api, resolved, canServe), [slug]);
  const tiers = tierWishOf(request, resolved.admits, serving);
  const contenders = contendersOf(model, serving, tiers, request, world);
  if (contenders.length === 0) return refusal(NO_ENDPOINTS, [slug], providersOf(serving));
  considered.push(...contenders);
  const left = filtered(contenders, filters, slug);
  if (left instanceof AppError) return left;
  const awake = withoutResting(left, slug, world.health);
  return awake instanceof AppError ? awake : { contenders: awake, resolved, tiers };
}

/** Returns why a model cannot serve, regardless of its endpoints. */
function unfitFor(api: Api, { model, isOnline }: ResolvedModel, today: string): Reason | null {
  return expiryOf(model, today) ?? (isOnline && !WITH_PLUGINS.includes(api) ? onlineElsewhere(api) : null);
}

function isNative(endpoint: Endpoint, api: Api): boolean {
  return endpoint.apis.includes(api);
}

/** APIs with a conversation to which the results of `:online` searches can be added. */
const WITH_PLUGINS: readonly Api[] = ['chat', 'responses', 'messages'];

const NO_ENDPOINTS: Reason = {
  error: 'not_found',
  code: 'no_endpoints',
  message: 'No provider of {model} is available',
};
/** Rank of an endpoint whose tier must not serve. */
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
  const contenders: Contender[] = [];
  for (const endpoint of endpoints) {
    const { provider } = endpoint;
    const tier = tierRank(endpoint, tiers) ?? NO_RANK;
    const add = (credential: OwnCredential | null): void => {
      contenders.push({ model, endpoint, credential, tierRank: tier, excludedBy: null });
    };
    if (isSpoken === undefined || isSpoken(provider)) for (const key of own.keysFor(endpoint)) add(key);
    if (isAvailable(provider) && own.isSharedAllowed(endpoint)) add(null);
  }
  return contenders;
}

/** Returns the contenders that pass all filters, or the refusal of the filter that removed the last one. */
function filtered(contenders: Contender[], hard: readonly HardFilter[], slug: string): Contender[] | AppError {
  let left = contenders;
  for (const filter of [...hard, TIER_FILTER]) {
    if (left.every((contender) => filter.keeps(contender))) continue;
    const kept = left.filter((contender) => filter.keeps(contender));
    const reason = typeof filter.reason === 'function' ? filter.reason() : filter.reason;
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

/** Parameters for which an endpoint that supports them is preferred at any price. */
const FEATURES: readonly string[] = ['tools', 'response_format', 'structured_outputs', 'verbosity'];

function asksForPictures({ outputModalities = [] }: RouteRequest): boolean {
  return outputModalities.includes('image');
}

function orderWishOf(request: RouteRequest, { resolved, tiers }: Field): OrderWish {
  const { preferences = {}, parameters = [] } = request;
  return {
    api: request.api,
    order: preferences.order ?? null,
    sort: preferences.sort ?? resolved.sort,
    sortOfTier: (rank) => sortOfGroup(tiers, rank),
    defaultSort: request.defaultSort,
    features: parameters.filter((name) => FEATURES.includes(name)),
    minThroughput: preferences.preferredMinThroughput ?? null,
    maxLatency: preferences.preferredMaxLatency ?? null,
    hasLinkedMedia: request.hasLinkedMedia === true,
    estimatedPromptTokens: request.estimatedPromptTokens ?? 0,
    maxOutputTokens: request.maxOutputTokens ?? null,
    paints: asksForPictures(request),
    stickyKey: request.stickyKey ?? null,
  };
}

/** Orders the endpoints model by model, or all together if the request asks for that (`partition: none`). */
function orderFields(fields: readonly Field[], request: RouteRequest, world: RouteWorld): readonly Candidate[] {
  const { preferences } = request;
  const isOneField = preferences?.partition === 'none' && fields.length > 1;
  const isFirstOnly = preferences?.allowFallbacks === false && !preferences.order;
  const candidates: Candidate[] = [];
  for (const field of isOneField ? [joined(fields)] : fields) {
    const ordered = orderField(field, request, world);
    for (const { model, endpoint, credential } of isFirstOnly ? ordered.slice(0, 1) : ordered) {
      candidates.push({ model, endpoint, credential });
    }
  }
  return candidates;
}

/** Ordered by what the first model wants. */
function joined(fields: readonly Field[]): Field {
  return { ...fields[0]!, contenders: fields.flatMap(({ contenders }) => contenders) };
}

function orderField(field: Field, request: RouteRequest, world: RouteWorld): readonly Contender[] {
  const { contenders } = field;
  if (contenders.length < 2) return contenders;
  const { health, dice, statistics = null, sticky = null, takesLinks = () => true } = world;
  return orderContenders(contenders, orderWishOf(request, field), { health, dice, statistics, sticky, takesLinks });
}
