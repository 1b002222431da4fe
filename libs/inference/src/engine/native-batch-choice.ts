import type { CallableApi, UpstreamApi } from '../dialects/dialect-pairs';
import { upstreamApiFor } from '../providers/upstream-api';
import type { NativeBatches } from '../providers/native-batch';
import type { ProviderAdapter } from '../providers/provider';
import type { Endpoint } from '../catalogue/catalogue';

/**
 * Returns the batch API of a provider and the caller API of its lines, for requests of `api`; null if there is none.
 */
export function nativeBatchesFor(
  api: CallableApi,
  endpoint: Endpoint,
  adapter: ProviderAdapter | undefined,
): { readonly batches: NativeBatches; readonly upstreamApi: UpstreamApi } | null {
  const upstreamApi = adapter && upstreamApiFor(api, endpoint, adapter);
  if (!adapter?.batch || !upstreamApi || !adapter.batch.apis.includes(upstreamApi)) return null;
  return { batches: adapter.batch, upstreamApi };
}

/** Returns whether to use the provider's own batch API: the catalogue prefers it, it is possible, and it costs less. */
export function prefersNativeBatch(
  api: CallableApi,
  endpoint: Endpoint,
  adapter: ProviderAdapter | undefined,
): boolean {
  const { provider, pricing, batchPricing } = endpoint;
  const isCheaper = batchPricing.prompt + batchPricing.completion < pricing.prompt + pricing.completion;
  return provider.batch === 'native' && isCheaper && nativeBatchesFor(api, endpoint, adapter) !== null;
}
