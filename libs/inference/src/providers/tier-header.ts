import type { Endpoint } from '../catalogue/catalogue';
import { traitsOf } from '../catalogue/endpoint-traits';

/** Tiers for which clouds use our names. */
const KNOWN: readonly string[] = ['priority', 'flex'];

/**
 * Returns the header that asks a cloud for the tier of an endpoint; undefined for the standard tier, which needs none.
 */
export function tierHeader(name: string, endpoint: Endpoint): Readonly<Record<string, string>> {
  const { tier } = traitsOf(endpoint);
  return KNOWN.includes(tier) ? { [name]: tier } : {};
}
