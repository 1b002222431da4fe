import type { Secret } from '@libs/contracts';
import { listOf } from '../named-tools';
import { callService, isRefusal } from '../operator-service';
import type { SearchMode, UserLocation } from '../web-search-settings';
import { readHit, SearchEngine, type SearchHit, type SearchQuery } from './search-engine';

const ADVANCED: ReadonlySet<SearchMode> = new Set(['advanced', 'deep', 'deep-lite', 'deep-reasoning']);
const MOST_RESULTS = 20;
const REGION_NAMES = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });

/** Tavily: `POST /search`. */
export class TavilyEngine extends SearchEngine {
  readonly name = 'tavily';

  constructor(
    private readonly key: Secret,
    private readonly baseUrl = 'https://api.tavily.com',
  ) {
    super();
  }

  /** The engine knows only some countries, by names of its own; the user's location is only a hint. */
  async search(query: SearchQuery): Promise<readonly SearchHit[]> {
    const country = countryName(query.location);
    try {
      return await this.#search(query, country);
    } catch (thrown) {
      if (country === null || !isRefusal(thrown)) throw thrown;
      return await this.#search(query, null);
    }
  }

  async #search(query: SearchQuery, country: string | null): Promise<readonly SearchHit[]> {
    const { domains, mode, work } = query;
    const answer = await callService(`search engine ${this.name}`, {
      url: new URL(`${this.baseUrl}/search`),
      headers: { authorization: `Bearer ${this.key.reveal()}` },
      body: {
        query: query.text,
        search_depth: mode !== null && ADVANCED.has(mode) ? 'advanced' : 'basic',
        max_results: Math.min(query.maxResults, MOST_RESULTS),
        ...(domains.allowed.length > 0 && { include_domains: domains.allowed.map(({ host }) => host) }),
        ...(domains.blocked.length > 0 && { exclude_domains: wholeHosts(query) }),
        ...(country !== null && { country }),
      },
      work,
    });
    return listOf(answer['results']).flatMap(
      ({ url, title, content, published_date: publishedAt }) =>
        readHit({ url, title, text: [content], publishedAt }) ?? [],
    );
  }
}

/** Returns the hosts that are blocked completely. A host with only a blocked path must still be searched. */
function wholeHosts({ domains }: SearchQuery): string[] {
  return domains.blocked.filter(({ path }) => path === '').map(({ host }) => host);
}

function countryName(location: UserLocation | null): string | null {
  const name = location?.country ? REGION_NAMES.of(location.country) : undefined;
  return name?.toLowerCase() ?? null;
}
