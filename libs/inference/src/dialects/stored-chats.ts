import type { Endpoint } from '../catalogue/catalogue';
import type { ProviderAccount } from '../model/provider-account';
import { isOpenAis, isTaken } from './own-members';

/**
 * Returns whether to send `store: false` with a chat request: without it, a setting of the account may make the
 * provider store the answer. Only OpenAI and Azure have the field. Others with the same API may refuse it, so the
 * catalogue can state that an endpoint accepts `store`.
 */
export function mustRefuseStoring(endpoint: Endpoint, { isOwn, keepsNothing }: ProviderAccount): boolean {
  if (isOwn && !keepsNothing) return false;
  return isTaken(endpoint, 'chat', 'store') ?? isOpenAis(endpoint);
}
