import { formatUsd, parseUsd, type PicoUsd } from '@libs/inference';
import type {
  GenerationOpening,
  GenerationSettlement,
  HoldRefusal,
  OpeningVerdict,
  RefusedRow,
} from '@libs/persistence';
import type { CallOutcome, GenerationTicket, Opening } from './generation-ticket';

/** Returns the fields with which the row of a call is created. */
export function openingRowOf({ opening, holdPicoUsd }: GenerationTicket): GenerationOpening {
  return { ...opening, holdUsd: formatUsd(holdPicoUsd) };
}

/**
 * Returns the charge of a call. The fields are listed one by one, because spreading two objects costs ten times as much
 * per call.
 */
export function settlementOf(opening: Opening, outcome: CallOutcome): GenerationSettlement {
  return {
    id: opening.id,
    createdOn: opening.createdOn,
    organizationId: opening.organizationId,
    workspaceId: opening.workspaceId,
    apiKeyHash: opening.apiKeyHash,
    api: opening.api,
    model: opening.model,
    streamed: opening.streamed,
    provider: outcome.provider,
    upstreamModel: outcome.upstreamModel,
    upstreamId: outcome.upstreamId,
    statusCode: outcome.statusCode,
    outcome: outcome.outcome,
    finishReason: outcome.finishReason,
    usageProvenance: outcome.usageProvenance,
    promptTokens: outcome.promptTokens,
    completionTokens: outcome.completionTokens,
    cachedTokens: outcome.cachedTokens,
    reasoningTokens: outcome.reasoningTokens,
    costUsd: outcome.costUsd,
    byokFeeUsd: outcome.byokFeeUsd,
    latencyMs: outcome.latencyMs,
    generationMs: outcome.generationMs,
    details: outcome.details,
  };
}

/** Returns what the caller's own provider charged. */
export function byokOf({ details }: Pick<CallOutcome, 'details'>): PicoUsd {
  return parseUsd(details.upstreamCostUsd ?? '0');
}

/** A call whose hold was refused, and the error that refused it. */
export interface UnpaidCall {
  readonly ticket: GenerationTicket;
  readonly refusedBy: HoldRefusal;
}

export interface OpenedCalls {
  readonly covered: readonly {
    readonly ticket: GenerationTicket;
    readonly verdict: OpeningVerdict & { refusedBy: null };
  }[];
  readonly missing: UnpaidCall[];
  readonly failed: readonly RefusedRow<GenerationTicket>[];
}

/** @param verdicts in the order of the tickets */
export function byVerdict(tickets: readonly GenerationTicket[], verdicts: readonly OpeningVerdict[]): OpenedCalls {
  const covered: OpenedCalls['covered'][number][] = [];
  const missing: UnpaidCall[] = [];
  const failed: RefusedRow<GenerationTicket>[] = [];
  for (const [index, ticket] of tickets.entries()) {
    const verdict = verdicts[index]!;
    if (verdict.refusedBy === null) covered.push({ ticket, verdict });
    else if (verdict.refusedBy === 'failure') failed.push({ row: ticket, error: verdict.error });
    else missing.push({ ticket, refusedBy: verdict.refusedBy });
  }
  return { covered, missing, failed };
}
