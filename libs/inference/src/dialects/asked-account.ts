import type { CanonicalRequest } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import { upstreamCacheKey, upstreamUser, type ProviderAccount } from '../model/provider-account';
import type { Endpoint } from '../catalogue/catalogue';
import { withAskedTier } from './asked-tier';
import { withPricedMarks } from './cache-lifetime';
import { withoutUsers } from './retained-members';
import { mustRefuseStoring } from './stored-chats';

/**
 * Adapts a canonical request to the account that pays for it. It keeps only tiers and cache lifetimes that have a price
 * there, binds the cache key and end user to the tenant, takes other names of the end user from the metadata, and turns
 * storing off if the provider must not store the request.
 */
export function inAccount(
  request: CanonicalRequest,
  endpoint: Endpoint,
  account: ProviderAccount,
  log: LossLog,
): CanonicalRequest {
  const marked = withPricedMarks(request, endpoint, account, log);
  const tiered = withAskedTier(marked, endpoint, { isOwnKey: account.isOwn, log });
  const metadata = withoutUsers(tiered.metadata, account);
  const named = metadata === tiered.metadata ? tiered : { ...tiered, metadata };
  const asked = mustRefuseStoring(endpoint, account) ? { ...named, refusesStoring: true } : named;
  const { promptCacheKey, endUser } = asked;
  if (account.isOwn || (promptCacheKey === undefined && endUser === undefined)) return asked;
  return {
    ...asked,
    ...(promptCacheKey !== undefined && { promptCacheKey: upstreamCacheKey(promptCacheKey, account) }),
    ...(endUser !== undefined && { endUser: upstreamUser(endUser, account) }),
  };
}
