/** The service tier of an endpoint; requests that ask for no tier get `standard`. */
export type EndpointTier = 'standard' | 'priority' | 'flex' | 'ultrafast';

/**
 * The names that the catalogue, requests and answers of providers have for the tiers, in lower case. `auto` is none:
 * it leaves the choice to the provider. Neither is one that no price list has, such as `scale`.
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

/** Returns the tier of this name, in any case; null for a word that names none. */
export function tierNamed(name: string): EndpointTier | null {
  return TIERS.get(name) ?? TIERS.get(name.toLowerCase()) ?? null;
}

/** Returns a provider's word for a tier in the words of our answers, which call the standard tier `default`. */
export function tierWord(word: string): string {
  const tier = tierNamed(word);
  return tier === 'standard' ? 'default' : (tier ?? word);
}
