import { parseUsd, usdNumber } from '@libs/inference';
import type { GenerationDetails, GenerationView } from '@libs/persistence';

/** `Generation` of the interface. */
export interface GenerationEntry {
  readonly id: string;
  readonly api_type: 'completions' | 'embeddings' | 'stt' | 'video';
  /** The model that served; if none did, or if it is not known yet, the requested one. */
  readonly model: string;
  readonly provider_name: string | null;
  /** Milliseconds from the start of the call to its first byte; below, to its end. */
  readonly latency: number | null;
  readonly generation_time: number | null;
  readonly total_cost: number;
  readonly usage: number;
  readonly [member: string]: unknown;
}

/** Returns the display name of a provider's slug; null for a provider that is no longer known. */
export type ProviderNames = (slug: string) => string | null;

/** The content of a call: `GenerationContent` of the API. */
export interface ContentEntry {
  readonly input: unknown;
  readonly output: unknown;
  readonly error: unknown;
}

/** Fields of the API that no record contains. */
const UNTOLD = {
  // Applications are identified by their URL; they have no numbers.
  app_id: null,
  data_region: 'global',
  // Moderation is a plugin, and the time of plugins is not measured.
  moderation_latency: null,
  // Providers count generated pictures in different ways, or together with other tokens.
  native_tokens_completion_images: null,
  num_media_completion: null,
  // There are no presets, and no models that choose another model.
  preset_id: null,
  router: null,
} as const;

/**
 * Returns the record of a call in the form of the API. `nameOf` returns the name of a provider by slug. Usage is null
 * while the call is open, and stays null if its process died: such a call ended in an error and was not charged.
 */
export function generationEntry(view: GenerationView, nameOf: (slug: string) => string): GenerationEntry {
  const costUsd = usdNumber(parseUsd(view.costUsd));
  return {
    ...UNTOLD,
    id: view.id,
    api_type: API_TYPES[view.api] ?? 'completions',
    model: servedModelOf(view.details) ?? view.model,
    provider_name: view.provider === null ? null : nameOf(view.provider),
    upstream_id: view.upstreamId,
    workspace_id: view.workspaceId,
    created_at: view.createdAt.toISOString(),
    streamed: view.streamed,
    cancelled: view.state === 'settled' ? view.outcome === 'cancelled' : null,
    finish_reason: view.state === 'abandoned' ? 'error' : view.finishReason,
    latency: view.latencyMs,
    generation_time: view.generationMs,
    ...tokensOf(view),
    ...clientOf(view.details ?? NO_DETAILS),
    ...answerOf(view.details ?? NO_DETAILS),
    ...(view.details === null ? NOTHING_COUNTED : countsOf(view.details)),
    provider_responses: view.details && providerResponses(view.details, view.upstreamId, nameOf),
    total_cost: costUsd,
    usage: costUsd,
  };
}

/** The `api_type` of each API; all others are `completions`. */
const API_TYPES: Readonly<Record<string, GenerationEntry['api_type']>> = {
  embeddings: 'embeddings',
  transcription: 'stt',
  video: 'video',
};

const NO_DETAILS: GenerationDetails = { attempts: [] };

/** Tokens are counted only by the provider, so its count is used for both fields. */
function tokensOf(view: GenerationView): object {
  const isSettled = view.state === 'settled';
  const prompt = isSettled ? view.promptTokens : null;
  const completion = isSettled ? view.completionTokens : null;
  return {
    tokens_prompt: prompt,
    tokens_completion: completion,
    native_tokens_prompt: prompt,
    native_tokens_completion: completion,
    native_tokens_cached: isSettled ? view.cachedTokens : null,
    native_tokens_reasoning: isSettled ? view.reasoningTokens : null,
  };
}

function clientOf(details: GenerationDetails): object {
  const { requestId, sessionId, trace, userAgent, httpReferer, origin, externalUser } = details;
  return {
    request_id: requestId ?? null,
    session_id: sessionId ?? null,
    trace: trace ?? null,
    user_agent: userAgent ?? null,
    http_referer: httpReferer ?? null,
    origin: origin ?? '',
    external_user: externalUser ?? null,
  };
}

function answerOf(details: GenerationDetails): object {
  const { nativeFinishReason, serviceTier, isByok, upstreamCostUsd, cacheDiscountUsd } = details;
  return {
    native_finish_reason: nativeFinishReason ?? null,
    service_tier: serviceTier ?? null,
    is_byok: isByok ?? false,
    upstream_inference_cost: upstreamCostUsd === undefined ? null : Number(upstreamCostUsd),
    cache_discount: cacheDiscountUsd === undefined ? null : Number(cacheDiscountUsd),
  };
}

const NOTHING_COUNTED = {
  num_media_prompt: null,
  num_input_audio_prompt: null,
  num_fetches: null,
  num_search_results: null,
  web_search_engine: null,
};

function countsOf({ mediaParts, audioParts, fetches, search }: GenerationDetails): object {
  return {
    num_media_prompt: mediaParts ?? 0,
    num_input_audio_prompt: audioParts ?? 0,
    num_fetches: fetches ?? null,
    num_search_results: search?.results ?? null,
    web_search_engine: search?.engine ?? null,
  };
}

/** Returns the model of the endpoint that answered, which is the last one that was called; null if none answered. */
function servedModelOf(details: GenerationDetails | null): string | null {
  const last = details?.attempts.at(-1);
  return last?.status === 200 ? last.model : null;
}

/** The last response is the one that answered, if one did; it has the answer's id. */
function providerResponses(
  { attempts, serviceTier }: GenerationDetails,
  upstreamId: string | null,
  nameOf: (slug: string) => string,
): object[] {
  return attempts.map(({ model, provider, status, latencyMs, isByok }, index) => {
    const hasAnswered = status === 200 && index === attempts.length - 1;
    const isTier = serviceTier === 'flex' || serviceTier === 'priority';
    return {
      ...(hasAnswered && upstreamId !== null && { id: upstreamId }),
      provider_name: nameOf(provider),
      model_permaslug: model,
      status,
      latency: latencyMs,
      is_byok: isByok ?? false,
      ...(hasAnswered && isTier && { routed_service_tier: serviceTier }),
    };
  });
}
