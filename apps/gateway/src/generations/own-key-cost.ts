import type { Cost } from '@libs/inference';

/** Cost of work on a caller's own key: the provider's charge to the owner, and our fee. */
export type OwnKeyCost = Required<Pick<Cost, 'upstreamCost' | 'byokFee'>>;

/** Returns undefined for work on the operator's key. */
export function ownKeyCostOf({ upstreamCost, byokFee }: Cost): OwnKeyCost | undefined {
  return upstreamCost === undefined || byokFee === undefined ? undefined : { upstreamCost, byokFee };
}

export function sumOwnKeyCosts(one: OwnKeyCost | undefined, other: OwnKeyCost | undefined): OwnKeyCost | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return { upstreamCost: one.upstreamCost + other.upstreamCost, byokFee: one.byokFee + other.byokFee };
}
