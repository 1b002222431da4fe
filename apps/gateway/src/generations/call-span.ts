import type { GenerationAttempt } from '@libs/persistence';
import type { SpanRecord } from '@libs/platform';
import { traceAttributes } from './caller-trace';
import type { CallOutcome, Opening } from './generation-ticket';

/** Operation names of the GenAI semantic conventions, which have none for transcription. */
const OPERATIONS: Readonly<Record<string, string>> = {
  chat: 'chat',
  responses: 'chat',
  messages: 'chat',
  embeddings: 'embeddings',
  transcription: 'transcription',
};

/**
 * Returns an inference call as a span that ends now, by the GenAI semantic conventions, with a span for each provider
 * call. Start times of provider calls are not measured: they are assumed to follow one another, and the last one ends
 * with the call if it answered it. The spans contain the recorded facts of a call, and nothing of the request or the
 * answer.
 */
export function callSpan(opening: Opening, outcome: CallOutcome, nowMs: number): SpanRecord {
  const operation = OPERATIONS[opening.api] ?? opening.api;
  const startMs = nowMs - (outcome.generationMs ?? 0);
  const isGood = outcome.outcome === 'completed' || outcome.outcome === 'incomplete';
  return {
    name: `${operation} ${opening.model}`,
    kind: 'server',
    startMs,
    endMs: nowMs,
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': outcome.provider,
      'gen_ai.request.model': opening.model,
      'gen_ai.request.stream': opening.streamed,
      'gen_ai.response.id': opening.id,
      'gen_ai.response.model': outcome.upstreamModel,
      'gen_ai.response.finish_reasons': outcome.finishReason === null ? null : [outcome.finishReason],
      'gen_ai.usage.input_tokens': outcome.promptTokens,
      'gen_ai.usage.output_tokens': outcome.completionTokens,
      'gen_ai.usage.cache_read.input_tokens': outcome.cachedTokens,
      'gen_ai.usage.reasoning.output_tokens': outcome.reasoningTokens,
      'http.response.status_code': outcome.statusCode,
      'sluice.api': opening.api,
      'sluice.workspace.id': opening.workspaceId,
      'sluice.cost_usd': outcome.costUsd,
      ...traceAttributes(outcome.details.trace),
    },
    errorType: isGood ? null : String(outcome.statusCode),
    parts: attemptSpans(operation, outcome, { startMs, endMs: nowMs }),
  };
}

function attemptSpans(
  operation: string,
  { details, latencyMs, provider, upstreamModel }: CallOutcome,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
): SpanRecord[] {
  const { attempts } = details;
  const tookMs = attempts.reduce((sum, attempt) => sum + attempt.latencyMs, 0);
  const lastMs = latencyMs === null ? endMs : Math.min(endMs, startMs + latencyMs);
  let nextMs = Math.max(startMs, lastMs - tookMs);
  return attempts.map((attempt, index): SpanRecord => {
    const isAnswer = index === attempts.length - 1 && attempt.status === 200 && provider === attempt.provider;
    const beganMs = nextMs;
    nextMs = Math.min(endMs, beganMs + attempt.latencyMs);
    return attemptSpan(operation, attempt, {
      startMs: beganMs,
      endMs: isAnswer ? endMs : nextMs,
      upstreamModel: isAnswer ? upstreamModel : null,
    });
  });
}

function attemptSpan(
  operation: string,
  { model, provider, status, isByok }: GenerationAttempt,
  {
    startMs,
    endMs,
    upstreamModel,
  }: { readonly startMs: number; readonly endMs: number; readonly upstreamModel: string | null },
): SpanRecord {
  return {
    name: `${operation} ${model}`,
    kind: 'client',
    startMs,
    endMs,
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      'gen_ai.response.model': upstreamModel,
      'http.response.status_code': status,
      'sluice.is_byok': isByok === true,
    },
    errorType: status === 200 ? null : String(status),
  };
}
