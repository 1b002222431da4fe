import { formatRate, traitsOf, type Catalogue, type Endpoint, type Model, type Rate } from '@libs/inference';
import type { EndpointDraft, ModelDraft, ProviderDraft } from '../catalogue-draft/catalogue-draft';
import type { Deployment } from './deployment';
import type { KnownProvider } from './litellm-providers';

/** Protocols of a single provider whose hosts differ by account or region. */
const HOSTED_ANYWHERE = new Set(['azure', 'bedrock', 'google-vertex']);

export interface KnownEndpoint {
  readonly model: Model;
  readonly endpoint: Endpoint;
}

/** Facts from the catalogue in use about models at their makers: mainly prices, which LiteLLM has in its code. */
export class KnownEndpoints {
  readonly #endpoints = new Map<string, KnownEndpoint>();

  constructor(private readonly catalogue: Catalogue | null) {
    for (const model of catalogue?.models() ?? []) {
      for (const endpoint of model.endpoints) this.#add(model, endpoint);
    }
  }

  /**
   * Returns the endpoint that the catalogue in use has for a deployment; null if there is none, or the deployment is
   * not at the provider's own host.
   */
  of({ known, upstreamModel, baseModel, api }: Deployment, baseUrl: string): KnownEndpoint | null {
    if (!isAtHome(known, baseUrl)) return null;
    const found = this.#endpoints.get(keyOf(known.slug, baseModel ?? upstreamModel));
    return found?.endpoint.apis.includes(api) === true ? found : null;
  }

  /** Returns how the provider handles prompts and batches, if the catalogue has that provider. */
  providerFacts(
    known: KnownProvider,
    baseUrl: string,
  ): Pick<ProviderDraft, 'batch' | 'batch_cache_reads' | 'data_policy' | 'max_concurrency'> {
    const provider = isAtHome(known, baseUrl) ? this.catalogue?.findProvider(known.slug) : null;
    if (!provider || provider.protocol !== known.protocol) return {};
    const { retainsPrompts, trainsOnPrompts, zdr } = provider.dataPolicy;
    return {
      data_policy: { retains_prompts: retainsPrompts, trains_on_prompts: trainsOnPrompts, zdr },
      batch: provider.batch,
      batch_cache_reads: provider.batchCacheReads,
      max_concurrency: provider.maxConcurrency,
    };
  }

  #add(model: Model, endpoint: Endpoint): void {
    const { tier, variant } = traitsOf(endpoint);
    const key = keyOf(endpoint.provider.slug, endpoint.upstreamModel);
    if (tier === 'standard' && variant === null && !this.#endpoints.has(key)) {
      this.#endpoints.set(key, { model, endpoint });
    }
  }
}

function isAtHome({ protocol, baseUrl }: KnownProvider, place: string): boolean {
  return HOSTED_ANYWHERE.has(protocol) || place === baseUrl;
}

function keyOf(provider: string, upstreamModel: string): string {
  return `${provider} ${upstreamModel}`;
}

export function endpointFacts({ endpoint }: KnownEndpoint): Omit<EndpointDraft, 'provider' | 'upstream_model'> {
  const { apis, listedPricing, listedBatchPricing, pricing, contextLength, maxCompletionTokens, capabilities } =
    endpoint;
  const { provider, zdr } = endpoint;
  return {
    apis,
    pricing: listedPricing,
    // Without it, a batch would cost half, and some providers charge more.
    ...(provider.batch !== 'none' && { batch_pricing: listedBatchPricing }),
    ...named('tool_pricing', pricing.tools),
    ...named('option_pricing', pricing.audioOptions),
    ...(zdr !== provider.dataPolicy.zdr && { zdr }),
    ...(contextLength !== null && { context_length: contextLength }),
    ...(maxCompletionTokens !== null && { max_completion_tokens: maxCompletionTokens }),
    ...(Object.keys(capabilities).length > 0 && { capabilities }),
  };
}

/** Returns a field with these rates; none if there are no rates. */
function named(
  member: 'option_pricing' | 'tool_pricing',
  rates: Readonly<Record<string, Rate>> = {},
): Pick<EndpointDraft, 'option_pricing' | 'tool_pricing'> {
  const texts = Object.entries(rates).map(([name, rate]) => [name, formatRate(rate)]);
  return texts.length === 0 ? {} : { [member]: Object.fromEntries(texts) as Record<string, string> };
}

export function modelFacts({
  model,
}: KnownEndpoint): Pick<ModelDraft, 'architecture' | 'created' | 'supported_parameters'> {
  const { architecture, created, supportedParameters } = model;
  return {
    created,
    architecture: { input_modalities: architecture.inputModalities },
    ...(supportedParameters.length > 0 && { supported_parameters: supportedParameters }),
  };
}
