import type { Endpoint } from '../catalogue/catalogue';
import type { ProviderAccount } from '../model/provider-account';
import { isTaken } from './own-members';

/** OpenAI itself, in any of its regions. */
const OPENAI = /^https:\/\/(?:[a-z0-9-]+\.)?api\.openai\.com(?:[:/]|$)/;

/**
 * Whether a chat request must say that its answer is not stored: the API may store it where nothing is said, by a
 * setting of the account. Only OpenAI and Azure have the member; others that speak their API may refuse it, so the
 * catalogue can say that an endpoint takes `store`.
 */
export function mustRefuseStoring(endpoint: Endpoint, { isOwn, keepsNothing }: ProviderAccount): boolean {
  if (isOwn && !keepsNothing) return false;
  const { protocol, baseUrl } = endpoint.provider;
  return (
    isTaken(endpoint, 'chat', 'store') ?? (protocol === 'azure' || (protocol === 'openai' && OPENAI.test(baseUrl)))
  );
}
