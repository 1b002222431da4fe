import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Document, isCollection, isMap, isScalar, Scalar, visit, type YAMLMap } from 'yaml';
import { CHAT_MODELS } from './catalogue-facts/chat-models';
import type { ChatFacts, MediaEndpointFacts, MediaFacts, ProviderFacts } from './catalogue-facts/fact-types';
import { FAMILIES, OPEN_TOKENIZERS } from './catalogue-facts/families';
import { MEDIA_MODELS } from './catalogue-facts/media-models';
import { OPEN_MODELS } from './catalogue-facts/open-models';
import { findPrices, type PricedModel, type Pricing, rateText } from './catalogue-facts/price-data';
import { PROVIDERS } from './catalogue-facts/providers';

/**
 * Writes `catalog/providers.yaml` and `catalog/models-*.yaml` from the price data and the tables of
 * `catalogue-facts/`: `node dist/scripts/generate-catalog.js [folder]`. The same tables, the same data and
 * the same day always give the same bytes.
 */
export const PRICES_AS_OF = '2026-11-21';
const DEFAULT_FOLDER = 'catalog';
/** Vendors with a file of their own; the other makers of open models share one, all media models another. */
const OWN_FILES = ['openai', 'anthropic', 'google', 'mistralai', 'x-ai', 'cohere', 'amazon', 'perplexity'];

/** Older YAML reads an aspect ratio as a number to the base of 60. */
const RATIO = /^\d+:\d+$/;

type Entry = Record<string, unknown>;

/** The files by name. */
export function generateCatalogue(day = PRICES_AS_OF): ReadonlyMap<string, string> {
  const groups = new Map<string, Entry[]>();
  const add = (file: string, entry: Entry) => groups.set(file, [...(groups.get(file) ?? []), entry]);
  for (const facts of CHAT_MODELS) {
    const vendor = vendorOf(facts.slug);
    add(OWN_FILES.includes(vendor) ? `models-${vendor}.yaml` : 'models-more.yaml', chatModel(facts, day));
  }
  for (const facts of OPEN_MODELS) add('models-open-weights.yaml', chatModel(facts, day));
  for (const facts of MEDIA_MODELS) add(`models-${facts.api}.yaml`, mediaModel(facts, day));

  const files = new Map([['providers.yaml', toYaml({ providers: PROVIDERS.map(toProvider) }, day)]]);
  const byName = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [file, models] of byName) files.set(file, toYaml({ models }, day));
  return files;
}

function toProvider(facts: ProviderFacts): Entry {
  return {
    slug: facts.slug,
    name: facts.name,
    base_url: facts.baseUrl,
    protocol: facts.protocol,
    api_key_env: facts.apiKeyEnv,
    headers: {},
    regions: facts.regions ?? ['global'],
    data_policy: {
      retains_prompts: facts.retainsPrompts ?? true,
      trains_on_prompts: facts.trainsOnPrompts ?? false,
      zdr: facts.retainsPrompts === false,
    },
    batch: facts.batch ?? 'managed',
    max_concurrency: facts.maxConcurrency ?? 64,
  };
}

function chatModel(facts: ChatFacts, day: string): Entry {
  const lines = facts.endpoints.map((line) => readLine(line, day));
  const known = [...lines.map(({ priced }) => priced.contextLength), facts.contextLength].filter(
    (length) => length !== undefined,
  );
  if (known.length === 0) throw new Error(`${facts.slug} has no context length`);
  const endpoints = lines.map((line) => chatEndpoint(facts, line, facts.contextLength ?? Math.min(...known)));
  const family = FAMILIES[facts.family];
  if (!family) throw new Error(`${facts.slug} is of an unknown family`);
  const open = facts.family.startsWith('open') ? OPEN_TOKENIZERS[vendorOf(facts.slug)] : undefined;
  return {
    ...modelHead(facts, Math.max(...known)),
    architecture: {
      input_modalities: facts.input ?? ['text'],
      output_modalities: facts.output ?? ['text'],
      tokenizer: open ?? family.tokenizer,
      instruct_type: null,
    },
    supported_parameters: family.parameters,
    endpoints,
  };
}

interface Line {
  readonly provider: ProviderFacts;
  readonly upstreamModel: string;
  readonly priced: PricedModel;
}

function readLine(line: string, day: string): Line {
  const { provider, upstreamModel, reference } = splitLine(line);
  return { provider, upstreamModel, priced: priceReference(provider, reference, day) };
}

function splitLine(line: string): Pick<Line, 'provider' | 'upstreamModel'> & { readonly reference: string } {
  const [slug = '', reference = '', named] = line.split(' ');
  const provider = providerOf(slug);
  const upstreamModel = (provider.upstreamPrefix ?? '') + (named ?? reference.replace(/@[^@]+$/, ''));
  return { provider, upstreamModel, reference };
}

/** APIs in which a provider runs tools of its own. */
const TOOL_APIS: ReadonlySet<string> = new Set(['responses', 'messages']);

function chatEndpoint(facts: ChatFacts, { provider, upstreamModel, priced }: Line, contextLength: number): Entry {
  const apis = facts.apis ?? provider.apisByFamily?.[facts.family] ?? provider.chatApis ?? ['chat'];
  const tools = apis.some((api) => TOOL_APIS.has(api)) ? { ...priced.tools, ...provider.toolPricing } : {};
  return {
    provider: provider.slug,
    upstream_model: upstreamModel,
    apis,
    pricing: priced.pricing,
    ...(Object.keys(tools).length > 0 && { tool_pricing: tools }),
    context_length: priced.contextLength ?? contextLength,
    max_completion_tokens: facts.maxCompletionTokens ?? null,
    quantization: 'unknown',
    ...place(provider),
    capabilities: facts.capabilities ?? {},
  };
}

function mediaModel(facts: MediaFacts, day: string): Entry {
  const output = facts.api;
  return {
    ...modelHead(facts, facts.contextLength ?? null),
    architecture: {
      input_modalities: facts.input,
      output_modalities: [output],
      tokenizer: 'Other',
      instruct_type: null,
    },
    supported_parameters: [],
    endpoints: facts.endpoints.map((endpoint) => ({
      provider: endpoint.provider,
      upstream_model: endpoint.upstreamModel,
      apis: [facts.api],
      pricing: mediaPricing(facts, endpoint, day),
      context_length: facts.contextLength ?? null,
      max_completion_tokens: null,
      quantization: 'unknown',
      ...place(providerOf(endpoint.provider)),
      capabilities: endpoint.capabilities ?? {},
    })),
  };
}

function mediaPricing(facts: MediaFacts, endpoint: MediaEndpointFacts, day: string): Pricing {
  if (endpoint.pricing) return endpoint.pricing;
  if (endpoint.perMinute) return { audio_second: rateText(endpoint.perMinute, 60n) };
  if (endpoint.perHour) return { audio_second: rateText(endpoint.perHour, 3_600n) };
  if (endpoint.priced) return priceReference(providerOf(endpoint.provider), endpoint.priced, day).pricing;
  throw new Error(`${facts.slug} at ${endpoint.provider} has no price`);
}

function modelHead(facts: ChatFacts | MediaFacts, contextLength: number | null): Entry {
  const { slug, name, released } = facts;
  const input = (facts.input ?? ['text']).join(', ');
  const output = 'api' in facts ? facts.api : (facts.output ?? ['text']).join(', ');
  return {
    slug,
    name,
    description: `${name}: takes ${input}; gives ${output}.`,
    created: released ? Date.parse(`${released}T00:00:00Z`) / 1_000 : 0,
    context_length: contextLength,
  };
}

function priceReference(provider: ProviderFacts, reference: string, day: string): PricedModel {
  if (reference.startsWith('=')) {
    const [prompt = '', completion = ''] = reference.slice(1).split('/');
    const pricing = { prompt: rateText(prompt, 1_000_000n), completion: rateText(completion, 1_000_000n) };
    return { pricing, contextLength: undefined };
  }
  const { source, id } = priceSource(provider, reference);
  return findPrices(source, id, day);
}

/** Which provider and which model of the price data a reference such as `id` or `id@source` names. */
function priceSource(provider: ProviderFacts, reference: string): { readonly source: string; readonly id: string } {
  const at = reference.lastIndexOf('@');
  const source = at > 0 ? reference.slice(at + 1) : provider.source;
  if (!source) throw new Error(`${provider.slug} is not in the price data`);
  return { source, id: at > 0 ? reference.slice(0, at) : reference };
}

export interface PricedEndpoint {
  readonly slug: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** Provider and model of the price data. */
  readonly source: string;
  readonly id: string;
}

/** The endpoints of language models whose prices come from the price data. */
export function pricedEndpoints(): readonly PricedEndpoint[] {
  return [...CHAT_MODELS, ...OPEN_MODELS].flatMap(({ slug, endpoints }) =>
    endpoints.flatMap((line) => {
      const { provider, upstreamModel, reference } = splitLine(line);
      if (reference.startsWith('=')) return [];
      return [{ slug, provider: provider.slug, upstreamModel, ...priceSource(provider, reference) }];
    }),
  );
}

function place(provider: ProviderFacts): Entry {
  return { region: provider.regions?.[0] ?? 'global', zdr: provider.retainsPrompts === false };
}

function providerOf(slug: string): ProviderFacts {
  const provider = PROVIDERS.find((candidate) => candidate.slug === slug);
  if (!provider) throw new Error(`there is no provider ${slug}`);
  return provider;
}

function vendorOf(slug: string): string {
  return slug.slice(0, slug.indexOf('/'));
}

/** Small mappings and lists of scalars on one line, prices in quotes. */
function toYaml(content: Entry, day: string): string {
  const document = new Document(content, { aliasDuplicateObjects: false });
  document.commentBefore = ` Written by scripts/generate-catalog.ts with prices of ${day}; change it there.`;
  visit(document, {
    Collection: (_key, node) => {
      const small = node.items.every(
        (item) => isScalar(item) || (isMap(node) && !isCollection(Reflect.get(item as object, 'value'))),
      );
      if (small && (isMap(node) ? !node.has('slug') && !node.has('provider') : true)) node.flow = true;
    },
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && RATIO.test(node.value)) quote(node);
    },
    Pair: (_key, pair) => {
      const isPricing = isScalar(pair.key) && PRICE_MEMBERS.has(pair.key.value);
      if (isPricing && isMap(pair.value)) quotePrices(pair.value);
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

const PRICE_MEMBERS: ReadonlySet<unknown> = new Set(['pricing', 'tool_pricing']);

function quotePrices(pricing: YAMLMap): void {
  visit(pricing, {
    Scalar: (key, node) => {
      if (key === 'value' && typeof node.value === 'string') quote(node);
    },
  });
}

function quote(value: unknown): void {
  if (isScalar(value)) value.type = Scalar.QUOTE_DOUBLE;
}

function main(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of generateCatalogue()) writeFileSync(join(folder, name), text);
}

if (require.main === module) main(process.argv[2] ?? DEFAULT_FOLDER);
