import type { Principal } from '@libs/contracts';
import {
  countedShare,
  ownKeysFor,
  type CredentialSource,
  type Endpoint,
  type Model,
  type OwnCredential,
  type ProviderFilter,
  type Share,
} from '@libs/inference';
import { countsByok, keyLimitOf } from '@libs/persistence';
import { credentialScopeOf } from './credential-scope';

/** Returns the share of its list price to reserve for a call at an endpoint; null: all of it. */
export type ChargedShare = (model: Model, endpoint: Endpoint) => Share | null;

/**
 * Returns the provider keys that a caller has brought along, or null where they would have to be waited for. A call
 * looks once, and goes by what it saw both for its hold and for its routes.
 */
export function ownKeysAtHand(
  caller: Principal,
  credentials: Pick<CredentialSource, 'ownCredentials'>,
): readonly OwnCredential[] | null {
  const own = credentials.ownCredentials(credentialScopeOf(caller));
  if (!(own instanceof Promise)) return own;
  // Routing asks again and reports the error.
  own.catch(() => undefined);
  return null;
}

/**
 * Returns the BYOK fee for endpoints that only the caller's own keys may serve, because they say so or because the
 * operator has no key there. If a limit counts what the provider charges, the list price and the fee are reserved.
 * Null, and so list prices, if the caller has no keys.
 *
 * @param ownKeys null where they are not known
 */
export function chargedShareFor(
  caller: Principal,
  ownKeys: readonly OwnCredential[] | null,
  isAvailable: ProviderFilter,
  fee: Share,
): ChargedShare | null {
  if (ownKeys?.length === 0) return null;
  const counts = countsByok({ keyLimit: keyLimitOf(caller), budgets: caller.budgets });
  if (ownKeys === null) return counts ? () => countedShare(fee) : null;
  const scope = credentialScopeOf(caller);
  return (model, endpoint) => {
    const own = ownKeysFor(model, model.endpoints, ownKeys, scope);
    if (counts) return own.keysFor(endpoint).length > 0 ? countedShare(fee) : null;
    return isAvailable(endpoint.provider) && own.isSharedAllowed(endpoint) ? null : fee;
  };
}
