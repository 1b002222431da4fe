import { AnthropicProvider } from './anthropic.provider';
import { OpenAiProvider } from './openai.provider';
import type { ProviderAdapter } from './provider';
import type { UpstreamHttp } from './upstream-http';

/** Every protocol there is, one line each, by the `protocol` of the catalogue. */
export function createProviderAdapters(http: UpstreamHttp): ReadonlyMap<string, ProviderAdapter> {
  const adapters: readonly ProviderAdapter[] = [new OpenAiProvider(http), new AnthropicProvider(http)];
  return new Map(adapters.map((adapter) => [adapter.protocol, adapter]));
}
