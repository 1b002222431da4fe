/** A catalogue of the tests' own: its providers and models are in no other file, so no code can know them. */

/** Prices in US dollars per token, decimal strings. */
export interface TestPrices {
  readonly prompt: string;
  readonly completion: string;
}

export interface TestModel {
  readonly slug: string;
  readonly provider: string;
  /** With the version prefix, e.g. `http://127.0.0.1:1234/steady/v1`. */
  readonly baseUrl: string;
  /** Default: openai. */
  readonly protocol?: string;
  readonly apis?: readonly string[];
  readonly pricing: TestPrices;
  readonly batchPricing?: TestPrices;
  /** Of tools that the provider runs. */
  readonly toolPricing?: Readonly<Record<string, string>>;
  readonly maxConcurrency?: number;
  /** Default: managed. */
  readonly batch?: 'native' | 'managed' | 'none';
  /** What the provider calls it; a name of its own when absent. */
  readonly upstreamModel?: string;
}

/** The variable in which the apps find the key of every provider of a test's catalogue. */
export const PROVIDER_KEY_VARIABLE = 'TEST_UPSTREAM_KEY';

const CREATED = 1_760_000_000;
const CONTEXT_LENGTH = 32_768;

/** Each model with a provider of its own, as the text of a catalogue file: JSON, which is YAML too. */
export function catalogueOf(models: readonly TestModel[]): string {
  return JSON.stringify({ providers: models.map(provider), models: models.map(model) }, null, 2);
}

function provider(model: TestModel): object {
  const { provider: slug, baseUrl, protocol = 'openai', maxConcurrency = 256, batch = 'managed' } = model;
  return {
    slug,
    name: `Test ${slug}`,
    base_url: baseUrl,
    protocol,
    api_key_env: PROVIDER_KEY_VARIABLE,
    headers: {},
    regions: ['global'],
    data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: true },
    batch,
    max_concurrency: maxConcurrency,
  };
}

function model(described: TestModel): object {
  const {
    slug,
    provider: providerSlug,
    apis = ['chat'],
    pricing,
    batchPricing,
    toolPricing,
    upstreamModel,
  } = described;
  const output = apis.includes('embeddings') ? 'embeddings' : 'text';
  return {
    slug,
    name: `Test ${slug}`,
    description: 'A model of the tests.',
    created: CREATED,
    context_length: CONTEXT_LENGTH,
    architecture: { input_modalities: ['text'], output_modalities: [output], tokenizer: 'Other', instruct_type: null },
    supported_parameters: ['max_tokens', 'temperature'],
    endpoints: [
      {
        provider: providerSlug,
        upstream_model: upstreamModel ?? `upstream-${slug.replaceAll('/', '-')}`,
        apis,
        pricing,
        ...(batchPricing && { batch_pricing: batchPricing }),
        ...(toolPricing && { tool_pricing: toolPricing }),
        context_length: CONTEXT_LENGTH,
        max_completion_tokens: 4_096,
        quantization: 'unknown',
        region: 'global',
        zdr: true,
        capabilities: {},
      },
    ],
  };
}
