import type { Endpoint } from '../catalogue/catalogue-entries';

/** Matches Bedrock's ids of Nova 2, after a region or the path of an ARN. */
export const NOVA_2 = /(?:^|[./])amazon\.nova-2-/;

/** Returns whether an endpoint may ignore the cap of a request with thinking: Nova 2 does at its highest effort. */
export function mayDropCap({ provider, upstreamModel }: Pick<Endpoint, 'provider' | 'upstreamModel'>): boolean {
  return provider.protocol.endsWith('bedrock') && NOVA_2.test(upstreamModel);
}
