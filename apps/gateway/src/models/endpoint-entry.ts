import { BATCH_SUFFIX, toModality, type Endpoint, type Model } from '@libs/inference';

/** `data` of `GET /models/{author}/{slug}/endpoints`. */
export interface ModelEndpoints {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly created: number;
  readonly architecture: object;
  readonly endpoints: readonly object[];
}

export function toModelEndpoints(model: Model, isBatch: boolean): ModelEndpoints {
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
    endpoints: endpoints.map((endpoint) => toEndpointEntry(model, endpoint, isBatch)),
  };
}

/** Returns an endpoint for the interface; what is not measured yet is null. */
function toEndpointEntry(model: Model, endpoint: Endpoint, isBatch: boolean): object {
  const prices = isBatch ? endpoint.listedBatchPricing : endpoint.listedPricing;
  // The catalogue says whether the member is taken, not which of its values are.
  const takesChoice = model.supportedParameters.includes('tool_choice');
  return {
    name: `${endpoint.provider.name} | ${model.slug}`,
    model_id: model.slug,
    model_name: model.name,
    provider_name: endpoint.provider.name,
    tag: endpoint.provider.slug,
    context_length: endpoint.contextLength ?? model.contextLength,
    max_completion_tokens: endpoint.maxCompletionTokens,
    max_prompt_tokens: endpoint.contextLength,
    pricing: { prompt: '0', completion: '0', image: '0', request: '0', ...prices },
    quantization: endpoint.quantization,
    supported_parameters: model.supportedParameters,
    supports_tool_choice: { auto: takesChoice, none: takesChoice, required: takesChoice, function: takesChoice },
    supports_implicit_caching: prices['input_cache_read'] !== undefined,
    status: 0,
    uptime_last_5m: null,
    uptime_last_30m: null,
    uptime_last_1d: null,
    latency_last_30m: null,
    throughput_last_30m: null,
  };
}
