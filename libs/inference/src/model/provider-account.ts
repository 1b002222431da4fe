import { hash } from 'node:crypto';

/** The provider account in which a request is made, and whether the provider may store data of it. */
export interface ProviderAccount {
  /** True if the caller's own key is used, so that the account and its bill are the caller's. */
  readonly isOwn: boolean;
  /**
   * True if the provider stores nothing of a request: by the endpoint's terms, or because the request or a policy
   * demands it.
   */
  readonly keepsNothing: boolean;
  /** The organization that makes the request; absent if the account is the caller's own. */
  readonly tenant?: string | undefined;
}

/** The operator's, for one nameless tenant. */
export const SHARED_ACCOUNT: ProviderAccount = { isOwn: false, keepsNothing: false };

/**
 * Returns the `prompt_cache_key` to send to a provider. On the operator's account it is bound to the tenant. Otherwise
 * a tenant that guesses another tenant's key could learn from a cache hit which prompt that tenant sent.
 * @returns at most 64 characters on the operator's account
 */
export function upstreamCacheKey(key: string, { isOwn, tenant = '' }: ProviderAccount): string {
  return isOwn ? key : hash('sha256', `${tenant}\n${key}`);
}

/**
 * Returns the identifier of an end user for a provider, from the hash of the caller's identifier. On the operator's
 * account it depends on the tenant: two tenants may use the same identifier, and a provider that blocks one of the
 * users does not block the other.
 */
export function upstreamUser(hashed: string, { tenant }: ProviderAccount): string {
  return tenant === undefined ? hashed : hash('sha256', `${tenant}\n${hashed}`);
}
