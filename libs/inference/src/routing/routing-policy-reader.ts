import type { OwnedPolicy, RoutingPolicy } from '@libs/contracts';
import type { Catalogue } from '../catalogue/catalogue';
import { isModelAmong, isNamed, isSlugOf } from './route-names';
import type { RoutePolicy } from './route-request';

/** Returns the policies of a caller in the form that routing uses. */
export function readRoutePolicies(policies: readonly OwnedPolicy[]): readonly RoutePolicy[] {
  return policies.map(({ owner, policy }) => ({
    owner,
    allowedProviders: policy.allowed_providers,
    ignoredProviders: policy.ignored_providers,
    allowedModels: policy.allowed_models,
    ignoredModels: policy.ignored_models,
    allowedTools: policy.allowed_tools,
    ignoredTools: policy.ignored_tools,
    regions: policy.allowed_data_regions?.includes('global') ? null : policy.allowed_data_regions,
    isZdrRequired: policy.zdr,
    isDataCollectionDenied: policy.data_collection === 'deny',
  }));
}

/**
 * Returns the path in a policy of the first name that is not in the catalogue, such as `ignored_models[2]`; or null.
 */
export function findUnknownName(policy: RoutingPolicy, catalogue: Catalogue): string | null {
  const isProvider = (name: string): boolean => isProviderName(name, catalogue);
  const isModel = (name: string): boolean => catalogue.models().some((model) => isModelAmong(model, [name]));
  return (
    firstUnknown('allowed_providers', policy.allowed_providers, isProvider) ??
    firstUnknown('ignored_providers', policy.ignored_providers, isProvider) ??
    firstUnknown('allowed_models', policy.allowed_models, isModel) ??
    firstUnknown('ignored_models', policy.ignored_models, isModel)
  );
}

function firstUnknown(
  member: string,
  names: readonly string[] | undefined,
  isKnown: (name: string) => boolean,
): string | null {
  const index = names?.findIndex((name) => !isKnown(name)) ?? -1;
  return index === -1 ? null : `${member}[${index}]`;
}

function isProviderName(name: string, catalogue: Catalogue): boolean {
  const lower = name.toLowerCase();
  return (
    catalogue.providers().some((provider) => isSlugOf(provider, lower) || provider.name.toLowerCase() === lower) ||
    catalogue.models().some(({ endpoints }) => endpoints.some((endpoint) => isNamed(endpoint, name)))
  );
}
