import type { GenerationSettlement } from './generation-records';

/** What ties the amounts in the details of a call to each other and to its cost, so that an audit can prove them. */
export interface CostParts {
  /** The list price, or the cost on shared capacity, less the tools. */
  readonly tokensUsd: string;
  /** `tokensUsd` and the cache discount: what the tokens would have cost without caches. */
  readonly uncachedUsd?: string;
}

/** Returns the parts of a cost whose details name some of them; null for a plain call, which is proven by its charge. */
export function costParts({ costUsd, byokFeeUsd, details }: GenerationSettlement): CostParts | null {
  const { providerToolsUsd, gatewayToolsUsd, cacheDiscountUsd, upstreamCostUsd, isByok } = details;
  if (providerToolsUsd === undefined && gatewayToolsUsd === undefined && cacheDiscountUsd === undefined) return null;
  // An allowance may spare a part of what an own key's call costs.
  const isShared = isByok !== true && byokFeeUsd === undefined;
  const whole = upstreamCostUsd ?? (isShared ? costUsd : undefined);
  if (whole === undefined) return null;
  const tokens = picoUsd(whole) - picoUsd(providerToolsUsd ?? '0') - picoUsd(gatewayToolsUsd ?? '0');
  if (cacheDiscountUsd === undefined) return { tokensUsd: usd(tokens) };
  return { tokensUsd: usd(tokens), uncachedUsd: usd(tokens + picoUsd(cacheDiscountUsd)) };
}

const DECIMALS = 12;

function picoUsd(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.');
  const digits = BigInt(whole + fraction.slice(0, DECIMALS).padEnd(DECIMALS, '0'));
  return amount.startsWith('-') ? -digits : digits;
}

function usd(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction === '' ? '' : `.${fraction}`}`;
}
