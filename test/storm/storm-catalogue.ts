import { PROTOCOLS, RECALLS } from '../support/billed-videos';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { Far } from './parts';

export const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
export const VIDEO_SECOND_USD = '0.01';
/** Of a provider for which callers may bring their own keys. */
export const OWN_KEYS_MODEL = 'storm/own';

/** The models of a storm and the group of providers that serves each. */
const MODELS: readonly (Omit<TestModel, 'baseUrl' | 'pricing'> & { readonly at: 'calls' | 'native' })[] = [
  { slug: 'storm/plain', provider: 'storm-plain', at: 'calls' },
  { slug: 'storm/responses', provider: 'storm-responses', apis: ['responses'], at: 'calls' },
  { slug: 'storm/claude', provider: 'storm-claude', protocol: 'anthropic', apis: ['messages'], at: 'calls' },
  { slug: 'storm/embed', provider: 'storm-embed', apis: ['embeddings'], at: 'calls' },
  { slug: OWN_KEYS_MODEL, provider: 'cerebras', at: 'calls' },
  { slug: 'storm/native', provider: 'storm-native', batch: 'native', at: 'native' },
];

interface Endpoint {
  pricing: object;
  capabilities: object;
}

/** The catalogue of one process: its providers are behind the proxies of this process. */
export function stormCatalogue(portOf: (far: Far) => number | undefined): string {
  const url = (far: Far, path: string): string => `http://127.0.0.1:${portOf(far) ?? 1}/${path}/v1`;
  // The same price in both lanes: which lane ran a line then makes no difference to what is due for it.
  const prices = { pricing: PRICES, batchPricing: PRICES };
  const called = MODELS.map(({ at, ...model }): TestModel => ({ ...model, baseUrl: url(at, at), ...prices }));
  const films = RECALLS.map((recall): TestModel => ({
    slug: `film/${recall}`,
    provider: `film-${recall}`,
    protocol: PROTOCOLS[recall],
    baseUrl: url('films', recall),
    apis: ['video'],
    pricing: PRICES,
  }));
  const parsed = JSON.parse(catalogueOf([...called, ...films])) as {
    models: { slug: string; endpoints: Endpoint[] }[];
  };
  for (const { slug, endpoints } of parsed.models.filter((model) => model.slug.startsWith('film/'))) {
    endpoints[0]!.pricing = { video_second: VIDEO_SECOND_USD };
    endpoints[0]!.capabilities = { video: { idempotent_submit: slug === 'film/keyed' } };
  }
  return JSON.stringify(parsed);
}
