import type { Endpoint } from '../catalogue/catalogue';
import { traitsOf } from '../catalogue/endpoint-traits';

/** Tiers that clouds know by the names that we have for them. */
const KNOWN: readonly string[] = ['priority', 'flex'];

/** The header that asks a cloud for the tier of an endpoint; none for the standard one, which it needs not be asked for. */
export function tierHeader(name: string, endpoint: Endpoint): Readonly<Record<string, string>> {
  const { tier } = traitsOf(endpoint);
  return KNOWN.includes(tier) ? { [name]: tier } : {};
}
