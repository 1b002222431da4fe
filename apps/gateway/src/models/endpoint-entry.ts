import { BATCH_SUFFIX, toModality, type Endpoint, type EndpointRecord, type Model } from '@libs/inference';

/** `data` of `GET /models/{author}/{slug}/endpoints`. */
export interface ModelEndpoints {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly created: number;
  readonly architecture: object;
  readonly endpoints: readonly object[];
}

/** How calls to endpoints ended, as far as this process knows. */
export interface EndpointHealth {
  readonly history: { recordOf(endpoint: Endpoint): EndpointRecord };
  hadOutage(endpoint: Endpoint): boolean;
  restOf(endpoint: Endpoint): object | null;
}

export function toModelEndpoints(model: Model, isBatch: boolean, health: EndpointHealth): ModelEndpoints {
  const endpoints = isBatch ? model.endpoints.filter(({ provider }) => provider.batch !== 'none') : model.endpoints;
  const { architecture } = model;
  return {
    id: isBatch ? model.slug + BATCH_SUFFIX : model.slug,
    name: model.name,
    description: model.description,
    created: model.created,
    architecture: {
      input_modalities: architecture.inputModalities,
      output_modalities: architecture.outputModalities,
      modality: toModality(architecture),
      instruct_type: architecture.instructType,
      tokenizer: architecture.tokenizer,
    },
    endpoints: endpoints.map((endpoint) => toEndpointEntry(model, endpoint, isBatch, health)),
  };
}

/** The endpoint is called normally. */
const AS_USUAL = 0;
/** Recent calls to the endpoint failed, so other endpoints are tried first. */
const AFTER_OTHERS = -1;
/** The endpoint is not called at present with the shared key. */
const RESTS = -2;

function statusOf(endpoint: Endpoint, health: EndpointHealth): number {
  if (health.restOf(endpoint) !== null) return RESTS;
  return health.hadOutage(endpoint) ? AFTER_OTHERS : AS_USUAL;
}

/** Returns an endpoint in the form that callers see; values that are not measured yet are null. */
function toEndpointEntry(model: Model, endpoint: Endpoint, isBatch: boolean, health: EndpointHealth): object {
  const { last5m, last30m, last1d, latency, throughput } = health.history.recordOf(endpoint);
  const prices = isBatch ? endpoint.listedBatchPricing : endpoint.listedPricing;
  // The catalogue states whether the field is supported, not which of its values are.
  const takesChoice = endpoint.supportedParameters.includes('tool_choice');
  return {
    name: `${endpoint.provider.name} | ${model.slug}`,
    model_id: model.slug,
    model_name: model.name,
    provider_name: endpoint.provider.name,
    tag: endpoint.provider.slug,
    // An integer in the interface, also where there is no context, as for videos.
    context_length: endpoint.contextLength ?? model.contextLength ?? 0,
    max_completion_tokens: endpoint.maxCompletionTokens,
    max_prompt_tokens: endpoint.contextLength,
    pricing: { prompt: '0', completion: '0', image: '0', request: '0', ...prices },
    quantization: endpoint.quantization,
    supported_parameters: endpoint.supportedParameters,
    supports_tool_choice: { auto: takesChoice, none: takesChoice, required: takesChoice, function: takesChoice },
    supports_implicit_caching: prices['input_cache_read'] !== undefined,
    status: statusOf(endpoint, health),
    uptime_last_5m: last5m,
    uptime_last_30m: last30m,
    uptime_last_1d: last1d,
    latency_last_30m: latency,
    throughput_last_30m: throughput,
  };
}
