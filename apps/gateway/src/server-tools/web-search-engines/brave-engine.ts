import type { Secret } from '@libs/contracts';
import { fieldsOf, listOf } from '../named-tools';
import { callService } from '../operator-service';
import { readHit, SearchEngine, withSiteOperators, type SearchHit, type SearchQuery } from './search-engine';

const MOST_RESULTS = 20;
/** The service refuses longer queries. */
const MOST = { characters: 400, words: 50 } as const;
/** A name that a header can carry. */
const PLAIN = /^[\x20-\x7e]+$/;
const HTML_TAG = /<[^<>]{1,20}>/g;

/** Brave Search: `GET /res/v1/web/search`. */
export class BraveEngine extends SearchEngine {
  readonly name = 'brave';

  constructor(
    private readonly key: Secret,
    private readonly baseUrl = 'https://api.search.brave.com',
  ) {
    super();
  }

  async search(query: SearchQuery): Promise<readonly SearchHit[]> {
    const url = new URL(`${this.baseUrl}/res/v1/web/search`);
    url.searchParams.set('q', withSiteOperators(query, MOST));
    url.searchParams.set('count', String(Math.min(query.maxResults, MOST_RESULTS)));
    url.searchParams.set('extra_snippets', 'true');
    const answer = await callService(`search engine ${this.name}`, {
      url,
      headers: { 'x-subscription-token': this.key.reveal(), ...locationHeaders(query) },
      work: query.work,
    });
    return listOf(fieldsOf(answer['web'])['results']).flatMap((result) => {
      const snippets: unknown[] = Array.isArray(result['extra_snippets']) ? result['extra_snippets'] : [];
      const text = [result['description'], ...snippets].map(withoutTags);
      return readHit({ url: result['url'], title: result['title'], text, publishedAt: result['page_age'] }) ?? [];
    });
  }
}

/** Sent as hints: the parameter `country` would be refused for a country without separate results. */
function locationHeaders({ location }: SearchQuery): Record<string, string> {
  const hints = {
    'x-loc-country': location?.country,
    'x-loc-city': location?.city,
    'x-loc-state-name': location?.region,
  };
  return Object.fromEntries(
    Object.entries(hints).flatMap(([name, value]) => (value && PLAIN.test(value) ? [[name, value]] : [])),
  );
}

/** Removes the tags that mark the search words in descriptions. */
function withoutTags(text: unknown): unknown {
  return typeof text === 'string' ? text.replace(HTML_TAG, '') : text;
}
