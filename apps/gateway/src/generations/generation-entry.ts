import { parseUsd, usdNumber } from '@libs/inference';
import type { GenerationView } from '@libs/persistence';

/** `Generation` of the interface, the members that this installation knows; the others are null. */
export interface GenerationEntry {
  readonly id: string;
  readonly api_type: 'completions' | 'embeddings' | null;
  /** As it was asked for. */
  readonly model: string;
  readonly provider_name: string | null;
  /** Milliseconds from the call to its first byte, and to its end. */
  readonly latency: number | null;
  readonly generation_time: number | null;
  readonly total_cost: number;
  readonly usage: number;
  readonly [member: string]: unknown;
}

/** Members of the interface that nothing here fills yet. */
const UNKNOWN = {
  app_id: null,
  cache_discount: null,
  data_region: 'global',
  external_user: null,
  http_referer: null,
  moderation_latency: null,
  native_finish_reason: null,
  native_tokens_completion_images: null,
  num_fetches: null,
  num_input_audio_prompt: null,
  num_media_completion: null,
  num_media_prompt: null,
  num_search_results: null,
  origin: '',
  preset_id: null,
  provider_responses: null,
  router: null,
  service_tier: null,
  upstream_inference_cost: null,
  user_agent: null,
  web_search_engine: null,
} as const;

/**
 * `providerName` is how the provider calls itself. What a call used is null while it is open, and stays so when
 * its process died: such a call ended in an error, and nobody was charged for it.
 */
export function generationEntry(view: GenerationView, providerName: string | null): GenerationEntry {
  const isSettled = view.state === 'settled';
  const costUsd = usdNumber(parseUsd(view.costUsd));
  const prompt = isSettled ? view.promptTokens : null;
  const completion = isSettled ? view.completionTokens : null;
  return {
    ...UNKNOWN,
    id: view.id,
    api_type: view.api === 'embeddings' ? 'embeddings' : 'completions',
    model: view.model,
    provider_name: providerName,
    upstream_id: view.upstreamId,
    workspace_id: view.workspaceId,
    created_at: view.createdAt.toISOString(),
    streamed: view.streamed,
    cancelled: isSettled ? view.outcome === 'cancelled' : null,
    finish_reason: view.state === 'abandoned' ? 'error' : view.finishReason,
    latency: view.latencyMs,
    generation_time: view.generationMs,
    tokens_prompt: prompt,
    tokens_completion: completion,
    native_tokens_prompt: prompt,
    native_tokens_completion: completion,
    native_tokens_cached: isSettled ? view.cachedTokens : null,
    native_tokens_reasoning: isSettled ? view.reasoningTokens : null,
    is_byok: false,
    total_cost: costUsd,
    usage: costUsd,
  };
}
