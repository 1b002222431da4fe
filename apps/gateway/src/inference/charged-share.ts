import type { Principal } from '@libs/contracts';
import { ownKeysFor, type CredentialSource, type Endpoint, type Model, type Share } from '@libs/inference';
import { countsByok, keyLimitOf } from '@libs/persistence';
import { credentialScopeOf } from './credential-scope';

/** Returns the share of its list price that a call at an endpoint costs; null: all of it. */
export type ChargedShare = (model: Model, endpoint: Endpoint) => Share | null;

/**
 * Where only keys of the caller's own may serve, a call costs the fee for them and no more. Null where the keys are not
 * known at once, where none of them keeps the operator's away, and where a limit counts what the provider charges.
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
