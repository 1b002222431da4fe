import type { Endpoint, Model } from '../catalogue/catalogue-entries';
import type { OwnCredential } from './credential-source';

/** An endpoint while a plan is made, with the key to use: the shared one, or one of the caller's own. */
export interface Contender {
  readonly model: Model;
  readonly endpoint: Endpoint;
  /** The caller's own key; null: the operator's key, or none. */
  readonly credential: OwnCredential | null;
  readonly tierRank: number;
  /** The request field or condition that ruled it out. */
  excludedBy: string | null;
}

/** True if prompts are not stored. The owner of a key may have a separate agreement with the provider. */
export function isZdr({ endpoint, credential }: Contender): boolean {
  return credential?.declaredZdr ?? endpoint.zdr;
}

export function collectsData(contender: Contender): boolean {
  const { trainsOnPrompts, retainsPrompts } = contender.endpoint.provider.dataPolicy;
  return trainsOnPrompts || (retainsPrompts && !isZdr(contender));
}

/** Returns where prompts are processed. A key may declare a region for an endpoint that is not bound to one. */
export function regionOf({ endpoint, credential }: Contender): string {
  const declared = credential?.declaredRegion ?? 'global';
  return endpoint.region === 'global' ? declared : endpoint.region;
}
