import { numberedId } from '@libs/contracts';
import { shownMessage, wireErrorType, type AppError } from '@libs/errors';
import {
  formatUsd,
  toolCostTexts,
  totalToolCost,
  type Answer,
  type LeftCall,
  type PicoUsd,
  type ToolCosts,
} from '@libs/inference';
import type { LineError, LineOutcome, LineUsageDetails, SegmentLease } from '@libs/persistence';

/** Identifies a line of a batch, and the lease under which its outcome is written. */
export interface LinePlace {
  readonly lease: SegmentLease;
  readonly batchId: string;
  readonly seq: number;
  readonly customId: string;
}

/** Returns the same id for every try of a line in every lane, so that a repeated charge has the same key. */
export function generationIdOf({ batchId, seq }: LinePlace): string {
  return numberedId('gen-batch', batchId, seq);
}

/** Returns the outcome of a line that was answered. */
export function answered(
  place: LinePlace,
  answer: Pick<Answer, 'body' | 'usage' | 'cost' | 'details' | 'serviceTier'> & { readonly status: number },
): LineOutcome {
  const { status, body, serviceTier } = answer;
  const charge = chargeOf(answer);
  const details = detailsOf(answer);
  return {
    ...identityOf(place),
    statusCode: status,
    requestId: numberedId('req', place.batchId, place.seq),
    body,
    error: null,
    ...charge,
    ...(serviceTier !== undefined && { serviceTier }),
    ...(details !== undefined && { usageDetails: { ...details, ...charge.usageDetails } }),
  };
}

/** Returns the outcome of a line cancelled while its provider worked on it: it is charged and has no answer. */
export function calledOff(place: LinePlace, error: AppError, charge: Pick<LeftCall, 'usage' | 'cost'>): LineOutcome {
  const said = { type: 'batch_cancelled', message: CALLED_OFF, param: null, error_type: wireErrorType(error.code) };
  return charged({ ...refused(place, error), error: said }, charge);
}

/** Returns the outcome with the charge added. */
export function charged(outcome: LineOutcome, charge: Pick<LeftCall, 'usage' | 'cost'>): LineOutcome {
  return { ...outcome, ...chargeOf(charge) };
}

const CALLED_OFF = 'The batch was cancelled before this request came to a result';

type Charge = Omit<LineOutcome, keyof ReturnType<typeof identityOf> | 'statusCode' | 'requestId' | 'body' | 'error'>;

function chargeOf({ usage, cost }: Pick<Answer, 'usage' | 'cost'>): Charge {
  return {
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    cachedTokens: usage.cachedTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
    reasoningTokens: usage.reasoningTokens,
    promptCostUsd: formatUsd(cost.promptCost),
    completionCostUsd: formatUsd(cost.completionCost),
    costUsd: formatUsd(cost.totalCost),
    ...(cost.byokFee !== undefined && { byokFeeUsd: formatUsd(cost.byokFee) }),
    ...(cost.toolCosts !== undefined && { usageDetails: toolDetails(cost, cost.toolCosts) }),
  };
}

/** The two parts of a cost are its list price, also with a caller's own key. */
function toolDetails({ promptCost, completionCost }: Answer['cost'], costs: ToolCosts): LineUsageDetails {
  const tokens: PicoUsd = promptCost + completionCost - totalToolCost(costs);
  return { providerTools: toolCostTexts(costs), tokensUsd: formatUsd(tokens) };
}

/** Returns the usage details of a line; only lines with more than text get counts per medium. */
function detailsOf({ usage, details }: Pick<Answer, 'usage' | 'details'>): LineUsageDetails | undefined {
  const { audioPromptTokens, audioCompletionTokens } = usage;
  const { videoPromptTokens = 0, filePromptTokens = 0, imageCompletionTokens = 0 } = usage;
  const media =
    audioPromptTokens + audioCompletionTokens + videoPromptTokens + filePromptTokens + imageCompletionTokens;
  if (media === 0) return details;
  return {
    ...details,
    audioPromptTokens,
    audioCompletionTokens,
    videoPromptTokens,
    filePromptTokens,
    imageCompletionTokens,
  };
}

/** Returns the outcome of a line that failed for good, which is not charged. */
export function refused(place: LinePlace, error: AppError): LineOutcome {
  return failedInPlaceOf(identityOf(place), error);
}

/** Returns a failure for a line, in place of another outcome. */
export function failedInPlaceOf(
  { lease, seq, customId, generationId }: Pick<LineOutcome, 'lease' | 'seq' | 'customId' | 'generationId'>,
  error: AppError,
): LineOutcome {
  return {
    lease,
    seq,
    customId,
    generationId,
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
    message: shownMessage(error),
    param: typeof param === 'string' ? param : null,
    error_type: wireErrorType(error.code),
  };
}

function errorFamily(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
