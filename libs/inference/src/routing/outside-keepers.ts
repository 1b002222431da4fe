import { objectOf } from '@libs/json';
import { demandsNoRetention, forbidsRetention, type AccountFacts } from './account-of-request';
import { forbiddenBy } from './route-policy';
import { refusal, type Reason } from './route-refusal';
import type { RoutePolicy } from './route-request';

/** What of a request says whether anything of it may be kept. */
export type RetentionFacts = Pick<AccountFacts, 'policies' | 'preferences'>;

/**
 * Refuses a request whose text would be sent to a service that is no provider and may keep it, if its preferences or a
 * policy forbid that.
 *
 * @param keepers names of such services, in words that begin a sentence
 * @throws AppError permission_denied for a policy, not_found for a preference; both name the member
 */
export function refuseKeepers(facts: RetentionFacts, models: readonly string[], keepers: readonly string[]): void {
  const [keeper] = keepers;
  if (keeper === undefined || !demandsNoRetention(facts)) return;
  throw refusal(reasonOf(facts, `${keeper} may keep what it is sent`), models);
}

/**
 * Whether a policy or the preferences of a body demand that nothing of it is kept. The body need not be checked: one
 * with other values is refused before a provider is asked.
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
