import type { AppError } from '@libs/errors';
import {
  formatUsd,
  type InferenceResult,
  type Served,
  type StreamOutcome,
  type Usage,
  type Cost,
} from '@libs/inference';
import type { CallOutcome } from '../generations/generation-ticket';

/** When a call began and when its answer did, in milliseconds of one clock. */
export interface CallTimes {
  readonly startedMs: number;
  readonly firstByteMs: number;
  readonly endedMs: number;
}

/** A whole answer, for the books. */
export function answered(result: InferenceResult, times: CallTimes): CallOutcome {
  const isCut = result.finishReason === 'length' || result.finishReason === 'content_filter';
  return {
    ...servedBy(result),
    ...counted(result.usage, result.cost),
    ...timed(times),
    upstreamId: result.upstreamId,
    statusCode: result.status,
    outcome: isCut ? 'incomplete' : 'completed',
    finishReason: result.finishReason,
  };
}

/** A stream that has come to its end. */
export function streamed(served: Served, stream: StreamOutcome, times: CallTimes): CallOutcome {
  return {
    ...servedBy(served),
    ...counted(stream.usage, stream.cost),
    ...timed(times),
    upstreamId: stream.upstreamId,
    statusCode: served.status,
    outcome: stream.state,
    finishReason: stream.finishReason,
  };
}

/** No provider gave an answer, so nobody pays. */
export function failed(error: AppError, isCancelled: boolean, startedMs: number, endedMs: number): CallOutcome {
  return {
    provider: null,
    upstreamModel: null,
    upstreamId: null,
    statusCode: isCancelled ? 499 : error.status,
    outcome: isCancelled ? 'cancelled' : 'failed',
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
  };
}

function servedBy({ endpoint }: Served) {
  return { provider: endpoint.provider.slug, upstreamModel: endpoint.upstreamModel };
}

function counted(usage: Usage, { totalCost }: Cost) {
  return {
    usageProvenance: usage.provenance,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    cachedTokens: usage.cachedTokens,
    reasoningTokens: usage.reasoningTokens,
    costUsd: formatUsd(totalCost),
    costPicoUsd: totalCost,
  };
}

function timed({ startedMs, firstByteMs, endedMs }: CallTimes) {
  return { latencyMs: Math.round(firstByteMs - startedMs), generationMs: Math.round(endedMs - startedMs) };
}
