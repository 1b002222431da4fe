import { objectOf } from '@libs/json';
import { demandsNoRetention, forbidsRetention, type AccountFacts } from './account-of-request';
import { forbiddenBy } from './route-policy';
import { refusal, type Reason } from './route-refusal';
import type { RoutePolicy } from './route-request';

/** The parts of a request that decide whether any of it may be stored. */
export type RetentionFacts = Pick<AccountFacts, 'policies' | 'preferences'>;

/**
 * Refuses a request whose text would be sent to a service other than a provider that may store it, if the request's
 * preferences or a policy forbid storing.
 * @param keepers names of such services, as the beginning of a sentence
 * @throws AppError permission_denied for a policy, not_found for a preference; both name the field
 */
export function refuseKeepers(facts: RetentionFacts, models: readonly string[], keepers: readonly string[]): void {
  const [keeper] = keepers;
  if (keeper === undefined || !demandsNoRetention(facts)) return;
  throw refusal(reasonOf(facts, `${keeper} may keep what it is sent`), models);
}

/**
 * Returns whether a policy or the preferences in a body demand that nothing is stored. The body need not be validated:
 * an invalid one is refused later, before a provider is called.
 */
export function forbidsKeeping(body: unknown, policies: readonly RoutePolicy[]): boolean {
  const { zdr, data_collection: collection } = objectOf(objectOf(body)['provider']);
  const preferences = { zdr: zdr === true, dataCollection: collection === 'deny' ? collection : null } as const;
  return demandsNoRetention({ policies, preferences });
}

function reasonOf({ policies = [], preferences = {} }: RetentionFacts, message: string): Reason {
  const rule = { code: 'privacy_restricted', excludedBy: 'data_policy:zdr' } as const;
  const policy = policies.find(forbidsRetention);
  if (policy !== undefined) {
    const member = policy.isZdrRequired === true ? 'zdr' : 'data_collection';
    return forbiddenBy(policy, { ...rule, member, detail: message });
  }
  const field = preferences.zdr === true ? 'provider.zdr' : 'provider.data_collection';
  return { ...rule, error: 'not_found', message, constraint: { field, detail: message } };
}
