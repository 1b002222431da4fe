import type { BatchTotals } from '@libs/persistence';

/** The usage object of a finished batch (interface §2.4). Costs are JSON numbers of exact decimal sums. */
export function toBatchUsage(totals: BatchTotals): object {
  return {
    prompt_tokens: totals.promptTokens,
    completion_tokens: totals.completionTokens,
    total_tokens: totals.promptTokens + totals.completionTokens,
    prompt_tokens_details: {
      cached_tokens: totals.cachedTokens,
      cache_write_tokens: totals.cacheWriteTokens,
      audio_tokens: 0,
      file_tokens: 0,
      video_tokens: 0,
    },
    completion_tokens_details: { reasoning_tokens: totals.reasoningTokens, audio_tokens: 0, image_tokens: 0 },
    cost: Number(totals.costUsd),
    cost_details: {
      upstream_inference_cost: totals.upstreamCostUsd === null ? null : Number(totals.upstreamCostUsd),
      upstream_inference_prompt_cost: Number(totals.promptCostUsd),
      upstream_inference_completions_cost: Number(totals.completionCostUsd),
    },
    is_byok: totals.upstreamCostUsd !== null,
  };
}
