import type { RouteRequest, SortKey } from './route-request';
import { isTierNamedIn } from './route-names';
import type { ResolvedModel } from './route-model';
import { traitsOf } from '../catalogue/endpoint-traits';
import type { EndpointTier } from '../catalogue/service-tiers';
import type { Endpoint } from '../catalogue/catalogue-entries';

/**
 * The tiers that may serve, in order of preference. Tiers in one group are equal. An endpoint of a tier outside all
 * groups serves only if `order` or `only` names exactly that tier.
 */
export interface TierWish {
  readonly groups: readonly (readonly EndpointTier[])[];
  readonly named: readonly string[];
}

/** Sort inside the group of a requested tier, if the request sets no other. */
const SORT_OF_TIER: Readonly<Partial<Record<EndpointTier, SortKey>>> = {
  priority: 'throughput',
  ultrafast: 'throughput',
  flex: 'price',
};

/** `endpoints` are those that could serve the request if it had no preferences. */
export function tierWishOf(
  { serviceTier, preferences }: Pick<RouteRequest, 'serviceTier' | 'preferences'>,
  admits: ResolvedModel['admits'],
  endpoints: readonly Endpoint[],
): TierWish {
  if (serviceTier === 'default') return { groups: [['standard']], named: [] };
  const named = [...(preferences?.only ?? []), ...(preferences?.order ?? [])];
  return { groups: groupsOf(serviceTier ?? 'auto', admits, endpoints), named };
}

function groupsOf(
  serviceTier: string,
  admits: ResolvedModel['admits'],
  endpoints: readonly Endpoint[],
): TierWish['groups'] {
  const usual: EndpointTier[] = admits === null ? ['standard'] : ['standard', admits];
  switch (serviceTier) {
    case 'priority':
    case 'fast':
      return [['priority'], usual];
    case 'ultrafast':
      return [['ultrafast'], ['priority'], usual];
    case 'flex':
      return endpoints.some((endpoint) => traitsOf(endpoint).tier === 'flex') ? [['flex']] : [usual];
    default:
      return [usual];
  }
}

/** Returns the position of an endpoint's group; null if the endpoint must not serve. */
export function tierRank(endpoint: Endpoint, { groups, named }: TierWish): number | null {
  const { tier } = traitsOf(endpoint);
  const rank = groups.findIndex((group) => group.includes(tier));
  if (rank !== -1) return rank;
  return named.length > 0 && tier !== 'standard' && isTierNamedIn(endpoint, named) ? groups.length - 1 : null;
}

/** Returns the sort of a group's endpoints if the request sets none. */
export function sortOfGroup({ groups }: TierWish, rank: number): SortKey | null {
  const group = groups[rank] ?? [];
  return group.length === 1 ? (SORT_OF_TIER[group[0]!] ?? null) : null;
}
