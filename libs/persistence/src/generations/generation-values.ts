import { plainArray, textArray } from '../array-literal';
import type { KeyLimit } from '../ledger/key-limit';
import type { SqlValue } from '../session';
import { askedParts, costParts } from './cost-parts';
import type { GenerationOpening, GenerationSettlement } from './generation-records';

/** The payer of openings and its terms; these are the same for all openings of a payer. */
export type Payer = Pick<GenerationOpening, 'organizationId' | 'workspaceId' | 'apiKeyHash' | 'keyLimit' | 'budgets'>;

export interface PayerGroups {
  readonly payers: readonly Payer[];
  /** For each opening, the number of its payer. */
  readonly numbers: readonly number[];
}

export function payersOf(openings: readonly GenerationOpening[]): PayerGroups {
  const payers: Payer[] = [];
  const numbersOfKeys = new Map<string, number[]>();
  const numbers = openings.map((opening) => {
    const ofKey = numbersOfKeys.get(opening.apiKeyHash);
    const known = ofKey?.find((number) => isSamePayer(payers[number]!, opening));
    if (known !== undefined) return known;
    const number = payers.push(opening) - 1;
    if (ofKey === undefined) numbersOfKeys.set(opening.apiKeyHash, [number]);
    else ofKey.push(number);
    return number;
  });
  return { payers, numbers };
}

/** Compares payers with the same key. Payers that may differ count as two, which costs one more row and is harmless. */
function isSamePayer(one: Payer, other: Payer): boolean {
  return (
    one.workspaceId === other.workspaceId &&
    one.organizationId === other.organizationId &&
    one.budgets === other.budgets &&
    isSameLimit(one.keyLimit, other.keyLimit)
  );
}

function isSameLimit(one: KeyLimit | null, other: KeyLimit | null): boolean {
  if (one === null || other === null) return one === other;
  return one.amountUsd === other.amountUsd && one.reset === other.reset && one.includesByok === other.includesByok;
}

/** Parameters $1 to $8 of the statements that open. */
export function openingValues(openings: readonly GenerationOpening[], { payers, numbers }: PayerGroups): SqlValue[] {
  return [
    JSON.stringify(
      payers.map(({ organizationId, workspaceId, apiKeyHash, keyLimit, budgets }, number) => ({
        number,
        organizationId,
        workspaceId,
        apiKeyHash,
        keyLimit,
        budgets,
      })),
    ),
    plainArray(numbers),
    plainArray(openings.map((opening) => opening.id)),
    plainArray(openings.map((opening) => opening.createdOn)),
    plainArray(openings.map((opening) => opening.api)),
    textArray(openings.map((opening) => opening.model)),
    plainArray(openings.map((opening) => opening.streamed)),
    plainArray(openings.map((opening) => opening.holdUsd)),
  ];
}

/** Parameters $1 to $24 of the statements that settle. */
export function settlementValues(settlements: readonly GenerationSettlement[]): SqlValue[] {
  return [
    plainArray(settlements.map((s) => s.id)),
    plainArray(settlements.map((s) => s.createdOn)),
    plainArray(settlements.map((s) => s.organizationId)),
    plainArray(settlements.map((s) => s.workspaceId)),
    plainArray(settlements.map((s) => s.apiKeyHash)),
    plainArray(settlements.map((s) => s.api)),
    textArray(settlements.map((s) => s.model)),
    plainArray(settlements.map((s) => s.streamed)),
    textArray(settlements.map((s) => s.provider)),
    textArray(settlements.map((s) => s.upstreamModel)),
    textArray(settlements.map((s) => s.upstreamId)),
    plainArray(settlements.map((s) => s.statusCode)),
    plainArray(settlements.map((s) => s.outcome)),
    textArray(settlements.map((s) => s.finishReason)),
    plainArray(settlements.map((s) => s.usageProvenance)),
    plainArray(settlements.map((s) => s.promptTokens)),
    plainArray(settlements.map((s) => s.completionTokens)),
    plainArray(settlements.map((s) => s.cachedTokens)),
    plainArray(settlements.map((s) => s.reasoningTokens)),
    plainArray(settlements.map((s) => s.costUsd)),
    plainArray(settlements.map((s) => s.latencyMs)),
    plainArray(settlements.map((s) => s.generationMs)),
    plainArray(settlements.map((s) => s.byokFeeUsd ?? null)),
    // JSON, because in an array literal each quote would have to be escaped.
    JSON.stringify(settlements.map(detailsOf)),
  ];
}

function detailsOf(settlement: GenerationSettlement): object {
  const [cost, asked] = [costParts(settlement), askedParts(settlement)];
  return cost === null && asked === null ? settlement.details : { ...settlement.details, ...cost, ...asked };
}
