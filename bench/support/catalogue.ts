/** The provider protocols that the benchmarks speak to, and the API of their one model each. */
const ENDPOINTS = [
  { api: 'chat', protocol: 'openai' },
  { api: 'responses', protocol: 'openai' },
  { api: 'messages', protocol: 'anthropic' },
  { api: 'transcription', protocol: 'openai' },
] as const;

export interface CatalogueOptions {
  /** Number of models; requests use only the first one of each API. */
  readonly models?: number;
  /** Comes before the version in the base URL, e.g. `stream-64-50`: see `zero-upstream`. */
  readonly upstreamPrefix?: string;
  /** Where the upstream is too; `bench/far` transcribes there. */
  readonly farUrl?: string;
}

/** A model for each API at a provider of its own: `bench/chat`, `bench/responses` and so on. */
export function benchCatalogue(upstreamUrl: string, options: CatalogueOptions = {}): object {
  const { models = 3, upstreamPrefix, farUrl } = options;
  const baseUrl = [upstreamUrl, ...(upstreamPrefix === undefined ? [] : [upstreamPrefix]), 'v1'].join('/');
  const fillers = Array.from({ length: Math.max(0, models - ENDPOINTS.length) }, (_, n) =>
    model('chat', `filler-${n}`),
  );
  const far = farUrl === undefined ? [] : [provider('transcription', 'openai', `${farUrl}/v1`, 'far')];
  return {
    providers: [...ENDPOINTS.map(({ api, protocol }) => provider(api, protocol, baseUrl)), ...far],
    models: [
      ...ENDPOINTS.map(({ api }) => model(api, api)),
      ...far.map(() => model('transcription', 'far', 'far')),
      ...fillers,
    ],
  };
}

function provider(api: string, protocol: string, baseUrl: string, name = api): object {
  return {
    slug: `bench-${name}`,
    name: `Bench ${name}`,
    base_url: baseUrl,
    protocol,
    api_key_env: 'SANDBOX_API_KEY',
    headers: {},
    regions: ['global'],
    data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: true },
    batch: 'managed',
    max_concurrency: 1_024,
  };
}

function model(api: string, name: string, providerName = api): object {
  return {
    slug: `bench/${name}`,
    name: `Bench ${name}`,
    description: 'Answers at once.',
    created: 1_763_683_200,
    context_length: 128_000,
    architecture: { input_modalities: ['text'], output_modalities: ['text'], tokenizer: 'Other', instruct_type: null },
    supported_parameters: ['max_tokens', 'temperature'],
    endpoints: [
      {
        provider: `bench-${providerName}`,
        upstream_model: 'sandbox-chat',
        apis: [api],
        pricing: { prompt: '0.0000001', completion: '0.0000004' },
        context_length: 128_000,
        max_completion_tokens: 16_384,
        quantization: 'unknown',
        region: 'global',
        zdr: true,
        capabilities: {},
      },
    ],
  };
}
