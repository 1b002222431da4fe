import { NO_CARD } from '../catalogue/model-card';
import { parseRate } from '../pricing/money';
import { Catalogue, type Endpoint, type Model, type Provider } from '../catalogue/catalogue';

/** A provider with nothing special about it. */
export function aProvider(values: Partial<Provider> = {}): Provider {
  const slug = values.slug ?? 'acme';
  return {
    slug,
    name: slug.charAt(0).toUpperCase() + slug.slice(1),
    baseUrl: 'http://127.0.0.1:9/v1',
    protocol: 'openai',
    apiKeyEnv: 'ACME_API_KEY',
    headers: {},
    regions: ['global'],
    dataPolicy: { retainsPrompts: false, trainsOnPrompts: false, zdr: true },
    batch: 'managed',
    maxConcurrency: 16,
    ...values,
  };
}

/** An endpoint for chat and embeddings at 1 and 2 dollars per million tokens; half of that in batches. */
export function anEndpoint(values: Partial<Endpoint> = {}): Endpoint {
  return {
    provider: aProvider(),
    upstreamModel: 'acme-large-2026',
    quotaGroup: null,
    apis: ['chat', 'embeddings'],
    pricing: { prompt: parseRate('0.000001'), completion: parseRate('0.000002') },
    batchPricing: { prompt: parseRate('0.0000005'), completion: parseRate('0.000001') },
    contextLength: 128_000,
    maxCompletionTokens: 16_000,
    quantization: 'unknown',
    region: 'global',
    zdr: false,
    supportedParameters: [],
    capabilities: {},
    listedPricing: {},
    listedBatchPricing: {},
    ...values,
  };
}

export function aModel(values: Partial<Model> = {}): Model {
  return {
    slug: 'acme/large',
    name: 'Acme Large',
    description: '',
    knowledgeCutoff: null,
    expirationDate: null,
    card: NO_CARD,
    created: 1_760_000_000,
    contextLength: 128_000,
    architecture: { inputModalities: ['text'], outputModalities: ['text'], tokenizer: 'Other', instructType: null },
    supportedParameters: [],
    endpoints: [anEndpoint()],
    ...values,
  };
}

/** A catalogue of these models and the providers of their endpoints. */
export function aCatalogue(...models: readonly Model[]): Catalogue {
  const providers = new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)));
  return new Catalogue([...providers], models);
}
