import { hash } from 'node:crypto';
import type { Candidate } from '../routing/planned-route';
import type { RoutePolicy } from '../routing/route-request';
import type { InferenceRequest } from './inference-call';

/** The account at a provider in which a request is made, and what may be left there. */
export interface ProviderAccount {
  /** The caller's own key is used, so the account and its bill are the caller's. */
  readonly isOwn: boolean;
  /** The provider keeps nothing of a request, by the endpoint's terms or because the request or a policy asks for it. */
  readonly keepsNothing: boolean;
  /** Whose request it is among those that share the account; absent where nobody shares it. */
  readonly tenant?: string | undefined;
}

/** The operator's, for one nameless tenant. */
export const SHARED_ACCOUNT: ProviderAccount = { isOwn: false, keepsNothing: false };

type Demands = Pick<InferenceRequest, 'scope' | 'policies' | 'preferences'>;

/** The account in which a candidate serves a request. */
export function providerAccountOf(
  { endpoint, credential }: Pick<Candidate, 'endpoint' | 'credential'>,
  { scope, policies = [], preferences }: Demands,
): ProviderAccount {
  const isDemanded =
    preferences?.zdr === true || preferences?.dataCollection === 'deny' || policies.some(forbidsRetention);
  const isOwn = Boolean(credential);
  return {
    isOwn,
    keepsNothing: isDemanded || (credential?.declaredZdr ?? endpoint.zdr),
    tenant: isOwn ? undefined : scope?.organizationId,
  };
}

/** Whether a policy demands that providers keep nothing. */
export function forbidsRetention({ isZdrRequired, isDataCollectionDenied }: RoutePolicy): boolean {
  return isZdrRequired === true || isDataCollectionDenied === true;
}

/**
 * Returns a caller's `prompt_cache_key` as a provider is told it. On the operator's account it is bound to the tenant:
 * a cache hit would tell others who guess the key that somebody sent a prompt before.
 *
 * @returns at most 64 characters
 */
export function upstreamCacheKey(key: string, { isOwn, tenant = '' }: ProviderAccount): string {
  return isOwn ? key : hash('sha256', `${tenant}\n${key}`);
}
