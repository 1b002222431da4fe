import type { Endpoint, Model } from '../catalogue/catalogue-entries';
import type { OwnCredential } from './credential-source';

/** An endpoint on its way through a plan: shared, or pinned to one of the caller's own keys. */
export interface Contender {
  readonly model: Model;
  readonly endpoint: Endpoint;
  /** Null: the operator's key, or none. */
  readonly credential: OwnCredential | null;
  readonly tierRank: number;
  /** The member or condition that ruled it out. */
  excludedBy: string | null;
}

/** Whether prompts are not kept; the owner of a key may have an own agreement with the provider. */
export function isZdr({ endpoint, credential }: Contender): boolean {
  return credential?.declaredZdr ?? endpoint.zdr;
}

export function collectsData(contender: Contender): boolean {
  const { trainsOnPrompts, retainsPrompts } = contender.endpoint.provider.dataPolicy;
  return trainsOnPrompts || (retainsPrompts && !isZdr(contender));
}

/** Where prompts are processed. A key may declare a region of its own for an endpoint that is bound to none. */
export function regionOf({ endpoint, credential }: Contender): string {
  const declared = credential?.declaredRegion ?? 'global';
  return endpoint.region === 'global' ? declared : endpoint.region;
}
