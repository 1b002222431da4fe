import type { ProviderAccount } from '../model/provider-account';
import type { CredentialScope } from './credential-source';
import type { Candidate } from './planned-route';
import type { RoutePolicy, RoutingPreferences } from './route-request';

/** The parts of a request that decide which provider account it uses and what may be stored there. */
export interface AccountFacts {
  readonly scope?: CredentialScope;
  readonly policies?: readonly RoutePolicy[];
  readonly preferences?: RoutingPreferences;
}

/** Returns the account in which a candidate serves a request. */
export function providerAccountOf(
  { endpoint, credential }: Pick<Candidate, 'endpoint' | 'credential'>,
  facts: AccountFacts,
): ProviderAccount {
  const isOwn = Boolean(credential);
  return {
    isOwn,
    keepsNothing: demandsNoRetention(facts) || (credential?.declaredZdr ?? endpoint.zdr),
    tenant: isOwn ? undefined : facts.scope?.organizationId,
  };
}

/** Returns whether the preferences of a request or a policy demand that no provider stores anything of it. */
export function demandsNoRetention({
  policies = [],
  preferences = {},
}: Pick<AccountFacts, 'policies' | 'preferences'>): boolean {
  return preferences.zdr === true || preferences.dataCollection === 'deny' || policies.some(forbidsRetention);
}

/** Returns whether a policy demands that providers store nothing. */
export function forbidsRetention({ isZdrRequired, isDataCollectionDenied }: RoutePolicy): boolean {
  return isZdrRequired === true || isDataCollectionDenied === true;
}
