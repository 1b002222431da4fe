import type { Principal } from '@libs/contracts';
import {
  countedShare,
  feeOf,
  ownKeysFor,
  type CredentialSource,
  type Endpoint,
  type Model,
  type OwnCredential,
  type PicoUsd,
  type ProviderFilter,
  type Share,
} from '@libs/inference';
import { countsByok, keyLimitOf } from '@libs/persistence';
import { credentialScopeOf } from './credential-scope';

/** Returns the share of its list price to reserve for a call at an endpoint; null: all of it. */
export type ChargedShare = (model: Model, endpoint: Endpoint) => Share | null;

/** Which keys may serve a request or batch, and whether limits count charges on own keys. */
export interface KeysOfWork {
  readonly hasOwnKey: boolean;
  /** True if the operator's keys must not be used. */
  readonly isOwnKeyOnly: boolean;
  /** True if a limit of the owner counts what providers charge on own keys. */
  readonly isCounted: boolean;
}

/** Returns the share of the list price to reserve: the fee, the list price and the fee, or null for the list price. */
export function reservedShare({ hasOwnKey, isOwnKeyOnly, isCounted }: KeysOfWork, fee: Share): Share | null {
  if (isCounted) return hasOwnKey ? countedShare(fee) : null;
  return isOwnKeyOnly ? fee : null;
}

/** Returns the amount to reserve, in pico-dollars. */
export function reservedOf(listPrice: PicoUsd, share: Share | null): PicoUsd {
  return share === null ? listPrice : feeOf(listPrice, share);
}

/**
 * Returns the caller's own provider keys; null if they are not loaded. A call looks once, and uses the same result for
 * its hold and for its routes.
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
 * Returns the BYOK fee for endpoints that only the caller's own keys may serve, because the keys demand it or because
 * the operator has no key there. If a limit counts what the provider charges, the list price and the fee are reserved.
 * Null, which means list prices, if the caller has no keys.
 * @param ownKeys null if they are not known: where the operator has no key, a call costs the fee or nothing
 */
export function chargedShareFor(
  caller: Principal,
  ownKeys: readonly OwnCredential[] | null,
  isAvailable: ProviderFilter,
  fee: Share,
): ChargedShare | null {
  if (ownKeys?.length === 0) return null;
  const isCounted = countsByok({ keyLimit: keyLimitOf(caller), budgets: caller.budgets });
  if (ownKeys === null) {
    return isCounted ? () => countedShare(fee) : (_model, { provider }) => (isAvailable(provider) ? null : fee);
  }
  const scope = credentialScopeOf(caller);
  return (model, endpoint) => {
    const own = ownKeysFor(model, model.endpoints, ownKeys, scope);
    const hasOwnKey = own.keysFor(endpoint).length > 0;
    const isOwnKeyOnly = !isAvailable(endpoint.provider) || !own.isSharedAllowed(endpoint);
    return reservedShare({ hasOwnKey, isOwnKeyOnly, isCounted }, fee);
  };
}
