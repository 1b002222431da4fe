import type { Endpoint, Model, Provider } from '../catalogue/catalogue-entries';
import { namesOf } from '../catalogue/catalogue';
import { traitsOf } from '../catalogue/endpoint-traits';

/**
 * Returns whether a name in `order`, `only` or `ignore` means this endpoint: a provider's slug or display name, in
 * upper or lower case. A slug without a suffix means all regions, variants and tiers of the provider, but a tier still
 * serves only requests that ask for it. A slug with a suffix means exactly one.
 */
export function isNamed(endpoint: Endpoint, wanted: string): boolean {
  const name = wanted.toLowerCase();
  const { suffixedSlugs, providerName } = traitsOf(endpoint);
  return isSlugOf(endpoint.provider, name) || providerName === name || suffixedSlugs.includes(name);
}

export function isNamedIn(endpoint: Endpoint, names: readonly string[]): boolean {
  return names.some((name) => isNamed(endpoint, name));
}

/** Returns whether a name names the tier itself and not just its provider. */
export function isTierNamedIn(endpoint: Endpoint, names: readonly string[]): boolean {
  const { suffixedSlugs } = traitsOf(endpoint);
  return names.some((name) => suffixedSlugs.includes(name.toLowerCase()));
}

/** Returns the endpoint's position in an order; the length of the order if it is not in it. */
export function rankIn(order: readonly string[], endpoint: Endpoint): number {
  const rank = order.findIndex((name) => isNamed(endpoint, name));
  return rank === -1 ? order.length : rank;
}

/** Returns whether a lower-case slug names the provider, or the provider without the variant behind its slash. */
export function isSlugOf({ slug }: Provider, wanted: string): boolean {
  return slug === wanted || (slug.startsWith(wanted) && slug.charAt(wanted.length) === '/');
}

/**
 * Returns whether one region is part of another. Regions have several names, and a region includes its parts: `eu`
 * includes `eu-west-1`.
 */
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
