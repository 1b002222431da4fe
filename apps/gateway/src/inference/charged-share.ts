import type { Principal } from '@libs/contracts';
import { ownKeysFor, type CredentialSource, type Endpoint, type Model, type Share } from '@libs/inference';
import { countsByok, keyLimitOf } from '@libs/persistence';
import { credentialScopeOf } from './credential-scope';

/** Returns the share of its list price that a call at an endpoint costs; null: all of it. */
export type ChargedShare = (model: Model, endpoint: Endpoint) => Share | null;

/**
 * Returns the BYOK fee for endpoints that only the caller's own keys may serve. Null, and so list prices, if the keys
 * are not in the cache, if all of them allow the operator's key, or if a limit counts what the provider charges.
 */
export function chargedShareFor(
  caller: Principal,
  credentials: Pick<CredentialSource, 'ownCredentials'>,
  fee: Share,
): ChargedShare | null {
  if (countsByok({ keyLimit: keyLimitOf(caller), budgets: caller.budgets })) return null;
  const scope = credentialScopeOf(caller);
  const own = credentials.ownCredentials(scope);
  if (own instanceof Promise) {
    // Routing asks again and reports the error.
    own.catch(() => undefined);
    return null;
  }
  if (!own.some(({ isByokOnly, isRequired }) => isByokOnly || isRequired)) return null;
  return (model, endpoint) => (ownKeysFor(model, model.endpoints, own, scope).isSharedAllowed(endpoint) ? null : fee);
}
