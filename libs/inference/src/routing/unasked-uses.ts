import type { Endpoint } from '../catalogue/catalogue-entries';

/**
 * Returns whether the provider may write to its prompt cache, and charge for it, where the request has no mark for
 * that. Anthropic's API and Bedrock write only what is marked.
 */
export function cachesUnasked({ apis, provider }: Endpoint): boolean {
  return !apis.includes('messages') && !provider.protocol.endsWith('bedrock');
}

/** Returns whether the model searches the web by itself. Such models have no API in which a request names tools. */
export function searchesUnasked({ apis, pricing }: Endpoint): boolean {
  return pricing.webSearch !== undefined && !apis.includes('responses') && !apis.includes('messages');
}
