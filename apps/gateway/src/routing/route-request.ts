import type { ProviderPreferences } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { readRoutingPreferences, type RoutingPreferences } from '@libs/inference';

interface Routable {
  readonly model?: string | null;
  readonly models?: readonly string[] | null;
  readonly provider?: ProviderPreferences | null;
  /** Older form of `provider.sort.partition`; other values are ignored. */
  readonly route?: unknown;
}

export interface RouteWish {
  readonly model: string;
  /** Tried after `model`. */
  readonly models: readonly string[];
  readonly preferences: RoutingPreferences;
}

const NO_PREFERENCES: RoutingPreferences = {};

/**
 * Returns the models and preferences of a validated body: `model` first, then `models`; `defaultModel` if it names
 * none.
 * @throws AppError invalid_request if it names no model
 */
export function routeWishOf({ model, models, provider, route }: Routable, defaultModel?: string): RouteWish {
  const named = [...(model ? [model] : []), ...(models ?? [])];
  const [first = defaultModel, ...rest] = named;
  if (first === undefined) throw new AppError('invalid_request', 'model is required', { metadata: { param: 'model' } });
  const isPlain = !provider && route !== 'sort';
  const preferences = isPlain ? NO_PREFERENCES : readRoutingPreferences(provider, route === 'sort' ? 'sort' : null);
  return { model: first, models: rest, preferences };
}
