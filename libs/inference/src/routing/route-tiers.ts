import type { RouteRequest, SortKey } from './route-request';
import { isTierNamedIn } from './route-names';
import type { ResolvedModel } from './route-model';
import { traitsOf } from '../catalogue/endpoint-traits';
import type { EndpointTier } from '../catalogue/service-tiers';
import type { Endpoint } from '../catalogue/catalogue-entries';

/**
 * Which tiers may serve, the first choice first. Tiers of one group are equals. An endpoint of a
 * tier that is in no group serves only when `order` or `only` names that very tier.
 */
export interface TierWish {
  readonly groups: readonly (readonly EndpointTier[])[];
  readonly named: readonly string[];
}

/** The order inside a group whose tier was asked for, where the request wants no other. */
const SORT_OF_TIER: Readonly<Partial<Record<EndpointTier, SortKey>>> = {
  priority: 'throughput',
  ultrafast: 'throughput',
  flex: 'price',
};

/** `endpoints` are those that could serve the request, whatever its preferences. */
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

/** The place of an endpoint among the groups, or null when it must not serve. */
export function tierRank(endpoint: Endpoint, { groups, named }: TierWish): number | null {
  const { tier } = traitsOf(endpoint);
  const rank = groups.findIndex((group) => group.includes(tier));
  if (rank !== -1) return rank;
  return named.length > 0 && tier !== 'standard' && isTierNamedIn(endpoint, named) ? groups.length - 1 : null;
}

/** How to sort the endpoints of a group where the request does not say. */
export function sortOfGroup({ groups }: TierWish, rank: number): SortKey | null {
  const group = groups[rank] ?? [];
  return group.length === 1 ? (SORT_OF_TIER[group[0]!] ?? null) : null;
}
