import type { Endpoint, Model, Provider } from '../catalogue/catalogue-entries';
import { namesOf } from '../catalogue/catalogue';
import { traitsOf } from '../catalogue/endpoint-traits';

/**
 * Whether a name in `order`, `only` or `ignore` means this endpoint: a provider's slug or display
 * name in any case. A plain slug means all regions, variants and tiers of the provider, though a tier
 * serves only a request that asks for it; a suffixed slug means exactly one.
 */
export function isNamed(endpoint: Endpoint, wanted: string): boolean {
  const name = wanted.toLowerCase();
  const { suffixedSlugs, providerName } = traitsOf(endpoint);
  return isSlugOf(endpoint.provider, name) || providerName === name || suffixedSlugs.includes(name);
}

export function isNamedIn(endpoint: Endpoint, names: readonly string[]): boolean {
  return names.some((name) => isNamed(endpoint, name));
}

/** Whether a tier was named, and not just its provider. */
export function isTierNamedIn(endpoint: Endpoint, names: readonly string[]): boolean {
  const { suffixedSlugs } = traitsOf(endpoint);
  return names.some((name) => suffixedSlugs.includes(name.toLowerCase()));
}

/** Returns the endpoint's position in an order; the order's length when it is not named. */
export function rankIn(order: readonly string[], endpoint: Endpoint): number {
  const rank = order.findIndex((name) => isNamed(endpoint, name));
  return rank === -1 ? order.length : rank;
}

/** Whether a slug in lower case is the provider's own or that of the provider it is a variant of. */
export function isSlugOf({ slug }: Provider, wanted: string): boolean {
  return slug === wanted || (slug.startsWith(wanted) && slug.charAt(wanted.length) === '/');
}

/** Regions go by several names; a region includes its parts: `eu` is where `eu-west-1` is. */
export function isInRegion(region: string, wanted: string): boolean {
  const part = regionName(region);
  const whole = regionName(wanted);
  return part === whole || part.startsWith(`${whole}-`);
}

function regionName(region: string): string {
  const lower = region.toLowerCase();
  return lower.replace(/^europe/, 'eu');
}

/** Returns whether one of the names is the model's slug or an alias, so that policies hold under every name. */
export function isModelAmong(model: Model, names: readonly string[]): boolean {
  return namesOf(model).some((name) => names.includes(name));
}
