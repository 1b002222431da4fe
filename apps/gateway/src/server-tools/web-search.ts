import type { GenerationSearch } from '@libs/persistence';
import type { OutsideWork } from '../parsers/outside-work';
import { refusal } from './named-tools';
import type { SearchEngine, SearchHit } from './web-search-engines/search-engine';
import type { SearchSettings } from './web-search-settings';

const LONGEST_QUERY = 2_000;

/** A search that one request has set up, with an available engine. */
export interface SearchSetup {
  readonly engine: SearchEngine;
  readonly settings: SearchSettings;
  /** Name of the engine if it may store queries; absent if the operator declares that it stores none. */
  readonly keeper?: string;
}

/** The engines of this installation, and the price of a search for callers. */
export class WebSearch {
  constructor(
    private readonly engines: readonly SearchEngine[],
    /** Price of one search, in pico-dollars. */
    readonly costPicoUsd: bigint,
    /** Names of the engines that store nothing about queries, as the operator declares. */
    private readonly keepingNothing: readonly string[] = [],
    /** True if a request that names a search without prefix may be answered without it when there is no engine. */
    readonly isOptional = false,
  ) {}

  get hasEngine(): boolean {
    return this.engines.length > 0;
  }

  /** @throws AppError invalid_request for an engine that is not configured; `path` is the path of the settings */
  setUp(settings: SearchSettings, path: string): SearchSetup {
    const wanted = settings.engine === null || settings.engine === 'auto' ? null : settings.engine;
    const engine = wanted === null ? this.engines[0] : this.engines.find(({ name }) => name === wanted);
    if (engine !== undefined) {
      const keepsNothing = this.keepingNothing.includes(engine.name);
      return { engine, settings, ...(!keepsNothing && { keeper: `The search engine ${engine.name}` }) };
    }
    if (this.engines.length === 0) throw refusal(path, 'asks for web_search, for which no engine is configured here');
    throw refusal(
      `${path}.engine`,
      `is not configured here; there are ${this.engines.map(({ name }) => name).join(', ')}`,
    );
  }

  /**
   * Returns the results that the request allows, each cut to its length.
   * @throws AppError if the engine fails
   */
  async search(
    { engine, settings }: SearchSetup,
    text: string,
    { most, work }: { readonly most: number; readonly work: OutsideWork },
  ): Promise<readonly SearchHit[]> {
    const { maxCharacters, domains, mode, location } = settings;
    const query = {
      text: text.slice(0, LONGEST_QUERY),
      maxResults: most,
      maxCharacters,
      domains,
      mode,
      location,
      work,
    };
    const hits = await engine.search(query);
    const seen = new Set<string>();
    return hits
      .filter(({ url }) => domains.admits(new URL(url)) && !seen.has(url) && seen.add(url))
      .slice(0, most)
      .map((hit) => ({ ...hit, text: hit.text.slice(0, maxCharacters) }));
  }
}

/** Searches of one call as one. */
export function joinSearches(
  one: GenerationSearch | undefined,
  other: GenerationSearch | undefined,
): GenerationSearch | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return { engine: one.engine, results: one.results + other.results };
}

/** Returns the results as text that a model can read and cite. */
export function describeHits(hits: readonly SearchHit[]): string {
  return hits
    .map(({ url, title, text, publishedAt }, index) =>
      [`[${index + 1}] ${title || url}`, `URL: ${url}`, ...(publishedAt ? [`Published: ${publishedAt}`] : []), text]
        .filter((line) => line !== '')
        .join('\n'),
    )
    .join('\n\n');
}
