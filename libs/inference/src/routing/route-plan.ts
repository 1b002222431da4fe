import { AppError } from '@libs/errors';
import type { Api, Catalogue, Endpoint, Model, Provider } from './catalogue';
import type { ProviderFilter } from './credential-source';
import type { HealthView } from './provider-health';

export type SortKey = 'price' | 'throughput' | 'latency' | 'exacto';

/** The routing part of `provider` in a request (spec A.1), already checked. Names are slugs or display names. */
export interface RoutingPreferences {
  readonly order?: readonly string[] | null;
  readonly only?: readonly string[] | null;
  readonly ignore?: readonly string[] | null;
  readonly allowFallbacks?: boolean | null;
  readonly sort?: SortKey | null;
}

export interface RouteRequest {
  readonly api: Api;
  /** With or without a suffix such as `:floor`. */
  readonly model: string;
  /** Tried in order after `model`. */
  readonly models?: readonly string[] | null;
  readonly preferences?: RoutingPreferences;
  readonly estimatedPromptTokens?: number;
}

/** What a plan is made from beside the request. */
export interface RouteWorld {
  readonly catalogue: Catalogue;
  readonly health: HealthView;
  readonly isAvailable: ProviderFilter;
  /** From 0 to below 1. */
  readonly dice: () => number;
}

/** One endpoint to try, and the model it serves. */
export interface Candidate {
  readonly model: Model;
  readonly endpoint: Endpoint;
}

/** Suffixes that only say how to sort; no measurements exist yet, so all but price tie and price decides. */
const SORT_SUFFIXES: Readonly<Record<string, SortKey>> = { ':floor': 'price', ':nitro': 'throughput' };

/**
 * The endpoints to try, in order (spec A.2). Pure: the same arguments and dice give the same plan.
 *
 * Without preferences: endpoints without a recent outage first; the first of them is drawn by weight
 * 1/price², the others follow by price; those with an outage come last. An endpoint whose context the
 * estimate exceeds is kept for the very end, because an estimate is no measurement.
 *
 * Throws `invalid_request` (400) for an unknown model or one that does not speak the API, and `not_found`
 * (404) when no endpoint is left; `metadata.availability` says which.
 */
export function planRoute(request: RouteRequest, world: RouteWorld): Candidate[] {
  const wanted = [request.model, ...(request.models ?? [])].filter((slug, i, all) => all.indexOf(slug) === i);
  const plan: Candidate[] = [];
  let refusal: AppError | null = null;
  for (const slug of wanted) {
    const found = planModel(slug, request, world);
    if (found instanceof AppError) refusal ??= found;
    else plan.push(...found);
  }
  if (plan.length === 0 && refusal) throw refusal;
  return plan;
}

function planModel(slug: string, request: RouteRequest, world: RouteWorld): Candidate[] | AppError {
  const { model, sort } = findModel(slug, world.catalogue);
  if (model === null) return unavailable('invalid_request', 'model_not_found', 'The model does not exist', slug);
  const speaking = model.endpoints.filter((endpoint) => endpoint.apis.includes(request.api));
  if (speaking.length === 0) {
    return unavailable('invalid_request', 'wrong_endpoint', 'The model cannot be used with this endpoint', slug);
  }
  const available = speaking.filter((endpoint) => world.isAvailable(endpoint.provider));
  if (available.length === 0) {
    return unavailable('not_found', 'no_endpoints', 'No provider of the model is available', slug);
  }
  const preferences = request.preferences ?? {};
  const allowed = available.filter(({ provider }) => isAllowed(provider, preferences));
  if (allowed.length === 0) {
    return unavailable('not_found', 'constraint_filtered', 'No provider of the model is allowed', slug, {
      excluded_by: 'allowed_providers',
    });
  }
  const ordered = orderEndpoints(allowed, { ...preferences, sort: preferences.sort ?? sort }, world);
  return byFit(ordered, request.estimatedPromptTokens ?? 0).map((endpoint) => ({ model, endpoint }));
}

/** The model of a slug; a sorting suffix counts only where no model has the whole name. */
function findModel(slug: string, catalogue: Catalogue): { model: Model | null; sort: SortKey | null } {
  const model = catalogue.findModel(slug);
  if (model !== null) return { model, sort: null };
  const colon = slug.lastIndexOf(':');
  const suffix = colon === -1 ? '' : slug.slice(colon);
  if (!Object.hasOwn(SORT_SUFFIXES, suffix)) return { model: null, sort: null };
  return { model: catalogue.findModel(slug.slice(0, colon)), sort: SORT_SUFFIXES[suffix]! };
}

function isAllowed(provider: Provider, { order, only, ignore, allowFallbacks }: RoutingPreferences): boolean {
  if (only && !only.some((name) => isNamed(provider, name))) return false;
  if (ignore?.some((name) => isNamed(provider, name))) return false;
  return allowFallbacks !== false || !order || order.some((name) => isNamed(provider, name));
}

/** A plain slug also names the provider's regions and variants; a suffixed one only itself. */
function isNamed({ slug, name }: Provider, wanted: string): boolean {
  const lower = wanted.toLowerCase();
  return slug === lower || slug.startsWith(`${lower}/`) || name.toLowerCase() === lower;
}

function orderEndpoints(
  endpoints: readonly Endpoint[],
  { order, sort, allowFallbacks }: RoutingPreferences,
  { health, dice }: RouteWorld,
): readonly Endpoint[] {
  if (endpoints.length === 1) return endpoints;
  const byPrice = endpoints.toSorted((a, b) => priceOf(a) - priceOf(b));
  if (order) return byPrice.toSorted((a, b) => rankIn(order, a.provider) - rankIn(order, b.provider));
  const ordered = sort ? byPrice : balanced(byPrice, health, dice);
  return allowFallbacks === false ? ordered.slice(0, 1) : ordered;
}

function rankIn(order: readonly string[], provider: Provider): number {
  const rank = order.findIndex((name) => isNamed(provider, name));
  return rank === -1 ? order.length : rank;
}

function balanced(byPrice: readonly Endpoint[], health: HealthView, dice: () => number): readonly Endpoint[] {
  const out = byPrice.filter((endpoint) => health.hadOutage(endpoint));
  const stable = out.length === 0 ? byPrice : byPrice.filter((endpoint) => !out.includes(endpoint));
  if (stable.length < 2) return [...stable, ...out];
  const first = draw(stable, dice());
  return [first, ...stable.filter((endpoint) => endpoint !== first), ...out];
}

/** Picks by weight 1/price². Where something is free, only the free are in the draw. */
function draw(endpoints: readonly Endpoint[], chance: number): Endpoint {
  const free = endpoints.filter((endpoint) => priceOf(endpoint) === 0);
  if (free.length > 0) return free[Math.floor(chance * free.length)]!;
  const weights = endpoints.map((endpoint) => priceOf(endpoint) ** -2);
  let left = chance * weights.reduce((sum, weight) => sum + weight, 0);
  const index = weights.findIndex((weight) => (left -= weight) < 0);
  return endpoints[index === -1 ? 0 : index]!;
}

/** Compares endpoints; good enough for an order and weights, never for a bill. */
function priceOf({ pricing }: Endpoint): number {
  return Number(pricing.prompt + pricing.completion);
}

function byFit(endpoints: readonly Endpoint[], promptTokens: number): readonly Endpoint[] {
  const fits = ({ contextLength }: Endpoint): boolean => contextLength === null || promptTokens <= contextLength;
  return endpoints.every(fits) ? endpoints : [...endpoints.filter(fits), ...endpoints.filter((one) => !fits(one))];
}

/** `availability` as in spec §7. */
function unavailable(
  code: 'invalid_request' | 'not_found',
  availability: string,
  message: string,
  slug: string,
  more: Readonly<Record<string, unknown>> = {},
): AppError {
  const requestedModels = [slug.slice(0, 256)];
  return new AppError(code, message, {
    metadata: {
      availability: { code: availability, retryable: false, requested_models: requestedModels, ...more },
    },
  });
}
