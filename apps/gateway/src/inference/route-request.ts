import type { ProviderPreferences } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { RoutingPreferences, SortKey } from '@libs/inference';

interface Routable {
  readonly model?: string | null;
  readonly models?: readonly string[] | null;
  readonly provider?: ProviderPreferences | null;
}

export interface RouteWish {
  readonly model: string;
  /** Tried after `model`. */
  readonly models: readonly string[];
  readonly preferences: RoutingPreferences;
}

const NO_PREFERENCES: RoutingPreferences = {};

/**
 * Where a checked body wants to go (spec A.1, A.4): `model` first, then `models`.
 *
 * @throws AppError invalid_request when it names no model
 */
export function routeWishOf({ model, models, provider }: Routable): RouteWish {
  const [first, ...rest] = [...(model ? [model] : []), ...(models ?? [])];
  if (first === undefined) throw new AppError('invalid_request', 'model is required', { metadata: { param: 'model' } });
  return { model: first, models: rest, preferences: provider ? preferencesOf(provider) : NO_PREFERENCES };
}

function preferencesOf({ order, only, ignore, allow_fallbacks, sort }: ProviderPreferences): RoutingPreferences {
  const by = typeof sort === 'object' && sort !== null ? sort.by : sort;
  return { order, only, ignore, allowFallbacks: allow_fallbacks, sort: (by ?? null) as SortKey | null };
}
