import { numberedId } from '@libs/contracts';
import { wireErrorType, type AppError } from '@libs/errors';
import { formatUsd, type Cost, type Usage } from '@libs/inference';
import type { LineError, LineOutcome, SegmentLease } from '@libs/persistence';

/** Which line of which batch, and under whose lease its outcome is written. */
export interface LinePlace {
  readonly lease: SegmentLease;
  readonly batchId: string;
  readonly seq: number;
  readonly customId: string;
}

/** The same for every try of a line in whatever lane, so that a repeated charge would meet its own key. */
export function generationIdOf({ batchId, seq }: LinePlace): string {
  return numberedId('gen-batch', batchId, seq);
}

/** What a line came to that was answered. */
export function answered(
  place: LinePlace,
  { status, body, usage, cost }: { readonly status: number; body: Buffer; usage: Usage; cost: Cost },
): LineOutcome {
  return {
    ...identityOf(place),
    statusCode: status,
    requestId: numberedId('req', place.batchId, place.seq),
    body,
    error: null,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    cachedTokens: usage.cachedTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
    reasoningTokens: usage.reasoningTokens,
    promptCostUsd: formatUsd(cost.promptCost),
    completionCostUsd: formatUsd(cost.completionCost),
    costUsd: formatUsd(cost.totalCost),
    ...(cost.byokFee !== undefined && { byokFeeUsd: formatUsd(cost.byokFee) }),
  };
}

/** What a line came to that failed for good: nobody pays for it. */
export function refused(place: LinePlace, error: AppError): LineOutcome {
  return {
    ...identityOf(place),
    statusCode: null,
    requestId: null,
    body: null,
    error: toLineError(error),
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    promptCostUsd: '0',
    completionCostUsd: '0',
    costUsd: '0',
  };
}

function identityOf(place: LinePlace): Pick<LineOutcome, 'lease' | 'seq' | 'customId' | 'generationId'> {
  const { lease, seq, customId } = place;
  return { lease, seq, customId, generationId: generationIdOf(place) };
}

function toLineError(error: AppError): LineError {
  const param = error.metadata?.param;
  return {
    type: errorFamily(error.status),
    message: error.status === 500 ? 'Internal error' : error.message,
    param: typeof param === 'string' ? param : null,
    error_type: wireErrorType(error.code),
  };
}

function errorFamily(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
