import type { CallableApi, UpstreamApi } from '../dialects/dialect-pairs';
import { upstreamApiFor } from '../providers/upstream-api';
import type { NativeBatches } from '../providers/native-batch';
import type { ProviderAdapter } from '../providers/provider';
import type { Endpoint } from '../catalogue/catalogue';

/** The batches of a provider, and the API in which requests of `api` are put into them; null where it has none. */
export function nativeBatchesFor(
  api: CallableApi,
  endpoint: Endpoint,
  adapter: ProviderAdapter | undefined,
): { readonly batches: NativeBatches; readonly upstreamApi: UpstreamApi } | null {
  const upstreamApi = adapter && upstreamApiFor(api, endpoint, adapter);
  if (!adapter?.batch || !upstreamApi || !adapter.batch.apis.includes(upstreamApi)) return null;
  return { batches: adapter.batch, upstreamApi };
}

/** Whether a batch is better given to the provider: the catalogue wants it, it can be done, and costs less. */
export function prefersNativeBatch(
  api: CallableApi,
  endpoint: Endpoint,
  adapter: ProviderAdapter | undefined,
): boolean {
  const { provider, pricing, batchPricing } = endpoint;
  const isCheaper = batchPricing.prompt + batchPricing.completion < pricing.prompt + pricing.completion;
  return provider.batch === 'native' && isCheaper && nativeBatchesFor(api, endpoint, adapter) !== null;
}
