import { hash } from 'node:crypto';

/** The account at a provider in which a request is made, and whether the provider may keep something. */
export interface ProviderAccount {
  /** The caller's own key is used, so the account and its bill are the caller's. */
  readonly isOwn: boolean;
  /** The provider keeps nothing of a request: by the endpoint's terms, or because the request or a policy asks so. */
  readonly keepsNothing: boolean;
  /** The organization whose request it is; absent if the account is the caller's own. */
  readonly tenant?: string | undefined;
}

/** The operator's, for one nameless tenant. */
export const SHARED_ACCOUNT: ProviderAccount = { isOwn: false, keepsNothing: false };

/**
 * Returns the `prompt_cache_key` to send to a provider. On the operator's account it is bound to the tenant:
 * otherwise a tenant that guesses the key of another could learn from a cache hit which prompt the other one sent.
 *
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
