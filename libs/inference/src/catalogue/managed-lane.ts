import type { PriceListName } from '../pricing/price';
import type { Provider } from './catalogue';

/**
 * Returns the price list for a batch line that we run as a single call. If a provider has its own batch API, its batch
 * prices apply to that API only, and a single call has the normal price.
 */
export function managedLanePrices(provider: Provider): PriceListName {
  return provider.batch === 'native' ? 'standard' : 'batch';
}
