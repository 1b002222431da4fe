import type { CanonicalRequest } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import { upstreamCacheKey, type ProviderAccount } from '../model/provider-account';
import type { Endpoint } from '../catalogue/catalogue';
import { withAskedTier } from './asked-tier';

/** A request in no dialect as it is made in an account: with the tier that is sold there, and a cache key of the tenant. */
export function inAccount(
  request: CanonicalRequest,
  endpoint: Endpoint,
  account: ProviderAccount,
  log: LossLog,
): CanonicalRequest {
  const asked = withAskedTier(request, endpoint, { isOwnKey: account.isOwn, log });
  const { promptCacheKey } = asked;
  if (promptCacheKey === undefined || account.isOwn) return asked;
  return { ...asked, promptCacheKey: upstreamCacheKey(promptCacheKey, account) };
}
