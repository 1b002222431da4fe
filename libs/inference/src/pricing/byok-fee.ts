import { AppError } from '@libs/errors';
import { formatUsd, type PicoUsd } from './money';
import type { Cost } from './price';
import { sumToolCosts } from './tool-costs';

/** A share of a price, in millionths. */
export type Share = bigint;

const WHOLE: Share = 1_000_000n;
const DECIMALS = 4;
const PERCENT = /^(0|[1-9]\d?|100)(?:\.(\d{1,4}))?$/;

/** Default fee for a call with a caller's own key: 5 per cent of the list price. */
export const DEFAULT_BYOK_FEE: Share = 50_000n;

/** Reads a percentage with at most four decimals, such as `"2.5"`. @throws AppError invalid_request */
export function parsePercent(text: string): Share {
  const match = PERCENT.exec(text);
  const share = match && BigInt(match[1]! + (match[2] ?? '').padEnd(DECIMALS, '0'));
  if (share === null || share > WHOLE) {
    throw new AppError('invalid_request', 'A percentage must be a number from 0 to 100 with at most 4 decimals');
  }
  return share;
}

/**
 * Returns the cost of a call with a caller's own key: the key's owner pays the provider, and pays us a share of the
 * list price, rounded half up to the pico-dollar. The prompt and completion costs stay those of the list price.
 */
export function byokCost({ totalCost: listPrice, ...parts }: Cost, fee: Share): Cost {
  const totalCost = feeOf(listPrice, fee);
  return { ...parts, totalCost, upstreamCost: listPrice, byokFee: totalCost };
}

/** Returns the fee, in pico-dollars, for this list price on a caller's own key. */
export function feeOf(listPrice: PicoUsd, fee: Share): PicoUsd {
  return (listPrice * fee + WHOLE / 2n) / WHOLE;
}

/** Returns `countedCost` as a share of the list price: the provider's charge plus the fee. */
export function countedShare(fee: Share): Share {
  return WHOLE + fee;
}

/** Returns the amount that counts towards a limit that includes own keys: the gateway's charge plus the provider's. */
export function countedCost({ totalCost, upstreamCost = 0n }: Pick<Cost, 'totalCost' | 'upstreamCost'>): PicoUsd {
  return totalCost + upstreamCost;
}

/** Returns whether a call used a caller's own key. */
export function isByok({ upstreamCost }: Cost): boolean {
  return upstreamCost !== undefined;
}

/** Returns `upstream_inference_cost` as JSON text; null unless the call used a caller's own key. */
export function upstreamCostText({ upstreamCost }: Cost): string {
  return upstreamCost === undefined ? 'null' : formatUsd(upstreamCost);
}

/** Returns the sum of two costs. Amounts paid to providers are summed separately. */
export function sumCosts(one: Cost, other: Cost): Cost {
  const isByok = one.upstreamCost !== undefined || other.upstreamCost !== undefined;
  const upstreamCost: PicoUsd = (one.upstreamCost ?? 0n) + (other.upstreamCost ?? 0n);
  const cacheDiscount: PicoUsd = (one.cacheDiscount ?? 0n) + (other.cacheDiscount ?? 0n);
  return {
    totalCost: one.totalCost + other.totalCost,
    promptCost: one.promptCost + other.promptCost,
    completionCost: one.completionCost + other.completionCost,
    ...(isByok && { upstreamCost, byokFee: (one.byokFee ?? 0n) + (other.byokFee ?? 0n) }),
    ...(cacheDiscount !== 0n && { cacheDiscount }),
    ...sumExtras(one, other),
  };
}

/** Adds up charges other than those for plain tokens; absent if there are none. */
function sumExtras(one: Cost, other: Cost): Pick<Cost, 'toolCosts' | 'cacheWrite1hTokens'> {
  const toolCosts = sumToolCosts(one.toolCosts, other.toolCosts);
  const cacheWrite1hTokens = (one.cacheWrite1hTokens ?? 0) + (other.cacheWrite1hTokens ?? 0);
  return { ...(toolCosts !== undefined && { toolCosts }), ...(cacheWrite1hTokens > 0 && { cacheWrite1hTokens }) };
}
