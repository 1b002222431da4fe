import type { Catalogue } from '../catalogue/catalogue';
import type { Endpoint } from '../catalogue/catalogue-entries';

/** The unit against which a provider counts calls: an account and an upstream model. */
export interface AccountModel {
  readonly account: string;
  readonly upstreamModel: string;
}

type Limited = Pick<Endpoint, 'upstreamModel' | 'quotaGroup'>;

/** Returns the name of an account: the operator's at a provider, or that of a caller's credential. */
export function accountOf(providerSlug: string, credentialId: string | null): string {
  return credentialId === null ? providerSlug : `${providerSlug}:${credentialId}`;
}

/**
 * Returns the name of the quota that limits calls of an account to an endpoint. Names of accounts contain neither a
 * space nor `#`.
 */
export function quotaOf(account: string, { upstreamModel, quotaGroup }: Limited): string {
  return quotaGroup === null ? `${account} ${upstreamModel}` : `${account}#${quotaGroup}`;
}

/** Returns the slug of the provider that a quota belongs to. */
export function providerOfQuota(quota: string): string {
  return quota.slice(0, quota.search(/[: #]/));
}

/** The `quota_group`s of a catalogue, for code that has an upstream model but no endpoint. */
export class QuotaGroups {
  readonly #groups = new Map<string, string>();
  readonly #models = new Map<string, Set<string>>();

  constructor(catalogue: Catalogue) {
    for (const { endpoints } of catalogue.models()) {
      for (const { provider, upstreamModel, quotaGroup } of endpoints) {
        if (quotaGroup === null) continue;
        this.#groups.set(`${provider.slug} ${upstreamModel}`, quotaGroup);
        const group = `${provider.slug}#${quotaGroup}`;
        this.#models.set(group, (this.#models.get(group) ?? new Set()).add(upstreamModel));
      }
    }
  }

  /** Returns the name of the quota of an account on an upstream model. */
  quotaOf({ account, upstreamModel }: AccountModel): string {
    const provider = account.split(':', 1)[0]!;
    return quotaOf(account, { upstreamModel, quotaGroup: this.#groups.get(`${provider} ${upstreamModel}`) ?? null });
  }

  /** Returns all models that share a quota; empty if the catalogue no longer has its group. */
  membersOf(quota: string): readonly AccountModel[] {
    const end = quota.search(/[ #]/);
    const account = quota.slice(0, end);
    const name = quota.slice(end + 1);
    if (quota[end] === ' ') return [{ account, upstreamModel: name }];
    const models = this.#models.get(`${account.split(':', 1)[0]!}#${name}`) ?? [];
    return [...models].map((upstreamModel) => ({ account, upstreamModel }));
  }
}

/** Results by catalogue. A catalogue never changes, so each is computed once. */
const known = new WeakMap<Catalogue, QuotaGroups>();

export function quotaGroupsOf(catalogue: Catalogue): QuotaGroups {
  let groups = known.get(catalogue);
  if (groups === undefined) known.set(catalogue, (groups = new QuotaGroups(catalogue)));
  return groups;
}
