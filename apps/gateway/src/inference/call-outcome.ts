import type { AppError } from '@libs/errors';
import {
  callStatus,
  formatUsd,
  NO_LOSS,
  type Attempt,
  type InferenceResult,
  type LeftCall,
  type StreamOutcome,
} from '@libs/inference';
import type { CallOutcome } from '../generations/generation-ticket';
import { storedText } from '../generations/stored-text';
import type { LoopResult } from '../server-tools/server-tool-engine';
import { answerDetails, callDetails, type Ended, type RecordedCall, type Server } from './call-details';

/** When a call began and when its answer did, in milliseconds of one clock. */
export interface CallTimes {
  readonly startedMs: number;
  readonly firstByteMs: number;
  readonly endedMs: number;
}

/** Returns the outcome of a whole answer. Also for several turns that broke off; the earlier ones are charged. */
export function answered(
  call: RecordedCall,
  result: InferenceResult & Pick<Partial<LoopResult>, 'interruption' | 'stages' | 'search'>,
  times: CallTimes,
): CallOutcome {
  const isCut = result.finishReason === 'length' || result.finishReason === 'content_filter';
  const state = result.finishReason === 'error' ? 'failed' : isCut ? 'incomplete' : 'completed';
  const outcome = outcomeOf(call, result, result, times, state);
  return result.interruption ? { ...outcome, ...interruptedBy(result.interruption) } : outcome;
}

/** Returns how a call ended whose caller has disconnected or gets an error. */
function interruptedBy({ code, status }: AppError): Pick<CallOutcome, 'statusCode' | 'outcome'> {
  return code === 'request_timeout'
    ? { statusCode: 499, outcome: 'cancelled' }
    : { statusCode: status, outcome: 'failed' };
}

/** Returns the outcome of a stream that has ended. */
export function streamed(call: RecordedCall, server: Server, stream: StreamOutcome, times: CallTimes): CallOutcome {
  return outcomeOf(call, server, stream, times, stream.state);
}

/** How a call ended that no provider answered. */
export interface Failure {
  readonly error: AppError;
  readonly isCancelled: boolean;
  readonly attempts: readonly Attempt[];
  /** Work of a provider that is charged although the call failed; null if there is none. */
  readonly left: LeftCall | null;
}

/** Returns the outcome of a call without an answer. It is free, unless work of a provider must be paid nevertheless. */
export function failed(
  call: RecordedCall,
  { error, isCancelled, attempts, left }: Failure,
  times: Omit<CallTimes, 'firstByteMs'>,
): CallOutcome {
  const { startedMs, endedMs } = times;
  const statusCode = isCancelled ? 499 : callStatus(call.api, error);
  const outcome = isCancelled ? 'cancelled' : 'failed';
  if (left !== null) return { ...paidOutcome(call, left, attempts, times), statusCode, outcome };
  return {
    provider: null,
    upstreamModel: null,
    upstreamId: null,
    statusCode,
    outcome,
    finishReason: null,
    usageProvenance: null,
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    costUsd: '0',
    costPicoUsd: 0n,
    latencyMs: null,
    generationMs: Math.round(endedMs - startedMs),
    details: callDetails(call, attempts),
  };
}

function paidOutcome(
  call: RecordedCall,
  left: LeftCall,
  attempts: readonly Attempt[],
  { startedMs, endedMs }: Omit<CallTimes, 'firstByteMs'>,
): CallOutcome {
  const server = { ...left, status: 499, attempts, losses: NO_LOSS };
  const ended = { ...left, finishReason: null, nativeFinishReason: null };
  const outcome = outcomeOf(call, server, ended, { startedMs, firstByteMs: endedMs, endedMs }, 'failed');
  return { ...outcome, latencyMs: null };
}

function outcomeOf(
  call: RecordedCall,
  server: Server,
  ended: Ended,
  { startedMs, firstByteMs, endedMs }: CallTimes,
  outcome: CallOutcome['outcome'],
): CallOutcome {
  const { endpoint, status } = server;
  const { usage, cost, upstreamId, finishReason } = ended;
  return {
    provider: endpoint.provider.slug,
    upstreamModel: endpoint.upstreamModel,
    upstreamId: storedText(upstreamId) ?? null,
    statusCode: status,
    outcome,
    finishReason,
    usageProvenance: usage.provenance,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    cachedTokens: usage.cachedTokens,
    reasoningTokens: usage.reasoningTokens,
    costUsd: formatUsd(cost.totalCost),
    costPicoUsd: cost.totalCost,
    byokFeeUsd: cost.byokFee === undefined ? undefined : formatUsd(cost.byokFee),
    latencyMs: Math.round(firstByteMs - startedMs),
    generationMs: Math.round(endedMs - startedMs),
    details: answerDetails(call, server, ended),
  };
}
