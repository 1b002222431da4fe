import type { Endpoint } from '../catalogue/catalogue-entries';

/** Ids of Nova 2 at Bedrock, behind a region or the path of a resource's name. */
export const NOVA_2 = /(?:^|[./])amazon\.nova-2-/;

/** Returns whether an endpoint may drop the cap of a request that asks for thinking: Nova 2 does at its highest effort. */
export function mayDropCap({ provider, upstreamModel }: Pick<Endpoint, 'provider' | 'upstreamModel'>): boolean {
  return provider.protocol.endsWith('bedrock') && NOVA_2.test(upstreamModel);
}
