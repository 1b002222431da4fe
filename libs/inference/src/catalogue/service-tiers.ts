/** The service tier of an endpoint; requests that ask for no tier get `standard`. */
export type EndpointTier = 'standard' | 'priority' | 'flex' | 'ultrafast';

/**
 * The tiers by the names that the catalogue, requests and answers of providers use, in lower case. `auto` is not
 * listed, because it leaves the choice to the provider; nor are tiers without a price list, such as `scale`.
 */
const TIERS: ReadonlyMap<string, EndpointTier> = new Map<string, EndpointTier>([
  ['standard', 'standard'],
  ['default', 'standard'],
  ['standard_only', 'standard'],
  ['on_demand', 'standard'],
  ['priority', 'priority'],
  ['fast', 'priority'],
  ['on_demand_priority', 'priority'],
  ['flex', 'flex'],
  ['on_demand_flex', 'flex'],
  ['ultrafast', 'ultrafast'],
]);

/** Returns the tier with this name, in upper or lower case; null if there is none. */
export function tierNamed(name: string): EndpointTier | null {
  return TIERS.get(name) ?? TIERS.get(name.toLowerCase()) ?? null;
}

/** Returns our name for a provider's tier; the standard tier is called `default` in answers. */
export function tierWord(word: string): string {
  const tier = tierNamed(word);
  return tier === 'standard' ? 'default' : (tier ?? word);
}
