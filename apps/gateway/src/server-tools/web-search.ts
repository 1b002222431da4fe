import type { GenerationSearch } from '@libs/persistence';
import type { OutsideWork } from '../parsers/outside-work';
import { refusal } from './named-tools';
import type { SearchEngine, SearchHit } from './web-search-engines/search-engine';
import type { SearchSettings } from './web-search-settings';

const LONGEST_QUERY = 2_000;

/** A search that one request has set up, with an engine that is there. */
export interface SearchSetup {
  readonly engine: SearchEngine;
  readonly settings: SearchSettings;
  /** The engine as one that may keep queries; absent where the operator declares that it keeps none. */
  readonly keeper?: string;
}

/** The engines of this installation, and what a search costs a caller. */
export class WebSearch {
  constructor(
    private readonly engines: readonly SearchEngine[],
    /** Of one search, in pico-dollars. */
    readonly costPicoUsd: bigint,
    /** Names of the engines that keep nothing of queries, as the operator declares. */
    private readonly keepingNothing: readonly string[] = [],
    /** Whether a request may be answered without a search that it names plainly, where there is no engine. */
    readonly isOptional = false,
  ) {}

  get hasEngine(): boolean {
    return this.engines.length > 0;
  }

  /** @throws AppError invalid_request for an engine that is not configured; `path` is where the settings stand */
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
   * The results that the request admits, each cut to its length.
   *
   * @throws AppError when the engine fails
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

/** The results as text that a model can read and cite. */
export function describeHits(hits: readonly SearchHit[]): string {
  return hits
    .map(({ url, title, text, publishedAt }, index) =>
      [`[${index + 1}] ${title || url}`, `URL: ${url}`, ...(publishedAt ? [`Published: ${publishedAt}`] : []), text]
        .filter((line) => line !== '')
        .join('\n'),
    )
    .join('\n\n');
}
