import type { BatchTotals, SummedIteration } from '@libs/persistence';

/** Returns the usage object of a finished batch. Costs are JSON numbers of exact decimal sums. */
export function toBatchUsage(totals: BatchTotals): object {
  const { details } = totals;
  return {
    prompt_tokens: totals.promptTokens,
    completion_tokens: totals.completionTokens,
    total_tokens: totals.promptTokens + totals.completionTokens,
    prompt_tokens_details: {
      cached_tokens: totals.cachedTokens,
      cache_write_tokens: totals.cacheWriteTokens,
      audio_tokens: details.audioPromptTokens,
      file_tokens: details.filePromptTokens,
      video_tokens: details.videoPromptTokens,
    },
    completion_tokens_details: {
      reasoning_tokens: totals.reasoningTokens,
      audio_tokens: details.audioCompletionTokens,
      image_tokens: details.imageCompletionTokens,
    },
    cache_creation: toCacheCreation(details),
    iterations: totals.iterations.map(toIteration),
    server_tool_use: {
      web_search_requests: details.webSearches,
      web_fetch_requests: details.webFetches,
      tool_calls_requested: details.toolCallsRequested,
      tool_calls_executed: details.toolCallsExecuted,
    },
    service_tier: totals.serviceTier,
    speed: totals.speed,
    cost: Number(totals.costUsd),
    cost_details: {
      upstream_inference_cost: totals.upstreamCostUsd === null ? null : Number(totals.upstreamCostUsd),
      upstream_inference_prompt_cost: Number(totals.promptCostUsd),
      upstream_inference_completions_cost: Number(totals.completionCostUsd),
    },
    is_byok: totals.upstreamCostUsd !== null,
  };
}

type CacheWrites = Pick<SummedIteration, 'cacheWrite5mTokens' | 'cacheWrite1hTokens'>;

function toCacheCreation({ cacheWrite5mTokens, cacheWrite1hTokens }: CacheWrites) {
  return { ephemeral_5m_input_tokens: cacheWrite5mTokens, ephemeral_1h_input_tokens: cacheWrite1hTokens };
}

function toIteration(iteration: SummedIteration): object {
  const { type, model } = iteration;
  const writes = toCacheCreation(iteration);
  return {
    type,
    ...(model !== undefined && { model }),
    input_tokens: iteration.inputTokens,
    output_tokens: iteration.outputTokens,
    cache_creation: iteration.cacheWrite5mTokens + iteration.cacheWrite1hTokens > 0 ? writes : null,
    cache_creation_input_tokens: iteration.cacheWriteTokens,
    cache_read_input_tokens: iteration.cacheReadTokens,
  };
}
