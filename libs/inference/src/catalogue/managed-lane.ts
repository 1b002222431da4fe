import type { PriceListName } from '../pricing/price';
import type { Provider } from './catalogue';

/**
 * What a batch line costs when we run it as a single call. The batch prices of a provider with a batch API
 * of its own are what that API charges; a single call to it costs what any single call costs.
 */
export function managedLanePrices(provider: Provider): PriceListName {
  return provider.batch === 'native' ? 'standard' : 'batch';
}
