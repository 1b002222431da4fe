import {
  hourWriteRate,
  traitsOf,
  tierNamed,
  toolRate,
  type Catalogue,
  type Endpoint,
  type PicoUsd,
  type PriceList,
  type Rate,
} from '@libs/inference';
import type { PriceCell } from './charge-facts';
import { TOKEN_CLASSES, type TokenClass, type TokenCounts } from './token-counts';

const RATE_PER_PICO = 1_000_000n;
/** Matches the date with which providers name a version of the requested model. */
const DATED = /^(.+?)[-@](?:\d{8}|\d{4}-\d{2}-\d{2})$/;

/** The catalogue's prices of one provider, for the cost of many calls at once. */
export class PriceBook {
  readonly #endpoints = new Map<string, Endpoint[]>();
  readonly #modelsOfSlug = new Map<string, string[]>();

  constructor(
    private readonly catalogue: Catalogue,
    readonly provider: string,
  ) {
    for (const { slug, endpoints } of catalogue.models()) {
      for (const endpoint of endpoints) {
        if (endpoint.provider.slug === provider) this.#add(slug, endpoint);
      }
    }
  }

  /** The provider's names of its models. */
  models(): readonly string[] {
    return [...this.#endpoints.keys()];
  }

  /** Returns the names at the provider of a model of the catalogue; all names for a model that is not in it. */
  modelsOf(name: string): readonly string[] {
    return this.#modelsOfSlug.get(this.catalogue.findModel(name)?.slug ?? name) ?? this.models();
  }

  /** Returns the name under which Sluice asks for a model that a report may name by its dated version. */
  nameOf(reported: string, recorded: ReadonlySet<string>): string {
    if (recorded.has(reported) || this.#endpoints.has(reported)) return reported;
    const undated = DATED.exec(reported)?.[1];
    if (undated === undefined) return reported;
    return recorded.has(undated) || this.#endpoints.has(undated) ? undated : reported;
  }

  /** Returns the number of prompt tokens from which a model has prices for long prompts; null if it has none. */
  longFrom(model: string): number | null {
    const thresholds = (this.#endpoints.get(model) ?? []).flatMap(({ pricing }) =>
      longOverrides(pricing).map(({ minPromptTokens = 0 }) => minPromptTokens),
    );
    return thresholds.length === 0 ? null : Math.min(...thresholds);
  }

  /** Returns the context length of a model in tokens; null if the catalogue does not state it. */
  contextOf(model: string): number | null {
    const lengths = (this.#endpoints.get(model) ?? []).flatMap(({ contextLength }) => contextLength ?? []);
    return lengths.length === 0 ? null : Math.max(...lengths);
  }

  /**
   * Returns the price of tokens and requests, rounded once to the pico-dollar; null if the catalogue has no such price.
   */
  price(model: string, cell: PriceCell, tokens: TokenCounts, requests: bigint): PicoUsd | null {
    const rates = this.#ratesOf(model, cell);
    if (rates === null) return null;
    const sum = TOKEN_CLASSES.reduce((total, name) => total + tokens[name] * rates.tokens[name], 0n);
    return rounded(sum + requests * rates.request);
  }

  /** Returns the prices of one use of a provider's tool, lowest first: models may have several, or none. */
  toolRates(tool: string): readonly PicoUsd[] {
    const lists = [...this.#endpoints.values()].flat().flatMap(({ pricing, batchPricing }) => [pricing, batchPricing]);
    const rates = new Set(lists.map((list) => rounded(toolRate(list, tool) ?? 0n)));
    return [...rates].filter((rate) => rate > 0n).toSorted((one, other) => (one < other ? -1 : 1));
  }

  #add(slug: string, endpoint: Endpoint): void {
    const name = endpoint.upstreamModel;
    this.#endpoints.set(name, [...(this.#endpoints.get(name) ?? []), endpoint]);
    const known = this.#modelsOfSlug.get(slug) ?? [];
    if (!known.includes(name)) this.#modelsOfSlug.set(slug, [...known, name]);
  }

  #ratesOf(model: string, { tier, isLong, isBatch }: PriceCell): CellRates | null {
    const endpoint = this.#endpoints.get(model)?.find((one) => traitsOf(one).tier === tier);
    if (endpoint === undefined) return null;
    const base = isBatch ? endpoint.batchPricing : endpoint.pricing;
    const long = longOverrides(base);
    if (isLong === true && long.length === 0) return null;
    const list =
      isLong === true ? long.reduce<PriceList>((prices, { rates }) => ({ ...prices, ...rates }), base) : base;
    return { tokens: classRates(list), request: list.request ?? 0n };
  }
}

interface CellRates {
  readonly tokens: Readonly<Record<TokenClass, Rate>>;
  readonly request: Rate;
}

/** Returns the catalogue's word for a provider's tier; unknown words are kept. */
export function tierOf(word: string | null): string {
  if (word === null || word === '' || word === 'auto') return 'standard';
  return tierNamed(word) ?? word;
}

function longOverrides({ overrides = [] }: PriceList): NonNullable<PriceList['overrides']> {
  return overrides.filter(({ minPromptTokens, utcStart }) => minPromptTokens !== undefined && utcStart === undefined);
}

function classRates(prices: PriceList): CellRates['tokens'] {
  return {
    uncached: prices.prompt,
    cached: prices.inputCacheRead ?? prices.prompt,
    cacheWrite5m: prices.inputCacheWrite ?? prices.prompt,
    cacheWrite1h: hourWriteRate(prices),
    output: prices.completion,
  };
}

/** Half away from zero. */
function rounded(attoUsd: bigint): PicoUsd {
  const half = attoUsd < 0n ? -RATE_PER_PICO / 2n : RATE_PER_PICO / 2n;
  return (attoUsd + half) / RATE_PER_PICO;
}
