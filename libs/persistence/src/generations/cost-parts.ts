import type { AskedCall, GenerationSettlement } from './generation-records';

/** How the amounts in the details of a call relate to each other and to its cost, so that an audit can verify them. */
export interface CostParts {
  /** The list price (on shared capacity the cost) minus the tools. */
  readonly tokensUsd: string;
  /** `tokensUsd` plus the cache discount: what the tokens would have cost without caches. */
  readonly uncachedUsd?: string;
}

/**
 * Returns the parts of a cost if its details name some of them; null for a plain call, whose charge is sufficient
 * proof.
 */
export function costParts(settlement: GenerationSettlement): CostParts | null {
  const { providerToolsUsd, gatewayToolsUsd, cacheDiscountUsd } = settlement.details;
  const named = [providerToolsUsd, gatewayToolsUsd, cacheDiscountUsd];
  const whole = wholeOf(settlement);
  if (whole === null || named.every((part) => part === undefined)) return null;
  // A value that is not an amount is left for PostgreSQL to refuse, for this row only.
  if (![whole, ...named].every((part) => part === undefined || AMOUNT.test(part))) return null;
  const tokens = picoUsd(whole) - picoUsd(providerToolsUsd) - picoUsd(gatewayToolsUsd);
  if (cacheDiscountUsd === undefined) return { tokensUsd: usd(tokens) };
  return { tokensUsd: usd(tokens), uncachedUsd: usd(tokens + picoUsd(cacheDiscountUsd)) };
}

/** Returns the sum of all amounts in `asked` and `turns`, so that an audit can verify them; null if there are none. */
export function askedParts({ details: { asked = [], turns = [] } }: GenerationSettlement): AskedParts | null {
  const amounts = [...asked, ...turns].flatMap(amountsOf);
  if (amounts.length === 0 || !amounts.every((amount) => AMOUNT.test(amount))) return null;
  return { askedUsd: usd(amounts.reduce((sum, amount) => sum + picoUsd(amount), 0n)) };
}

interface AskedParts {
  readonly askedUsd: string;
}

function amountsOf({ costUsd, providerTools = {} }: AskedCall): readonly string[] {
  return [costUsd, ...Object.values(providerTools)];
}

/**
 * Returns the list price of a call as decimal dollars; null for a call on an own key without one, because an allowance
 * may waive a part of its cost.
 */
function wholeOf({ costUsd, byokFeeUsd, details }: GenerationSettlement): string | null {
  if (details.upstreamCostUsd !== undefined) return details.upstreamCostUsd;
  return details.isByok || byokFeeUsd !== undefined ? null : costUsd;
}

const DECIMALS = 12;
const AMOUNT = /^-?\d+(\.\d{1,12})?$/;

function picoUsd(amount = '0'): bigint {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.');
  const digits = BigInt(whole + fraction.padEnd(DECIMALS, '0'));
  return amount.startsWith('-') ? -digits : digits;
}

function usd(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction === '' ? '' : `.${fraction}`}`;
}
