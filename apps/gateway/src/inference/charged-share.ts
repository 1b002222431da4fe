import type { Principal } from '@libs/contracts';
import { ownKeysFor, type CredentialSource, type Endpoint, type Model, type Share } from '@libs/inference';
import { countsByok, keyLimitOf } from '@libs/persistence';
import { credentialScopeOf } from './credential-scope';

/** Returns the share of its list price that a call at an endpoint costs; null: all of it. */
export type ChargedShare = (model: Model, endpoint: Endpoint) => Share | null;

/**
 * Returns the BYOK fee for endpoints that only the caller's own keys may serve, because they say so or because the
 * operator has no key there. Null, and so list prices, if the caller has no keys, if they are not in the cache, or if a
 * limit counts what the provider charges.
 */
export function chargedShareFor(
  caller: Principal,
  credentials: Pick<CredentialSource, 'ownCredentials' | 'availableProviders'>,
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
  if (own.length === 0) return null;
  const isAvailable = credentials.availableProviders(scope);
  if (isAvailable instanceof Promise) {
    isAvailable.catch(() => undefined);
    return null;
  }
  return (model, endpoint) => {
    if (!isAvailable(endpoint.provider)) return fee;
    return ownKeysFor(model, model.endpoints, own, scope).isSharedAllowed(endpoint) ? null : fee;
  };
}
