import { listOf } from '../named-tools';
import { callService } from '../operator-service';
import { readHit, SearchEngine, withSiteOperators, type SearchHit, type SearchQuery } from './search-engine';

/** SearXNG, a search engine that the operator runs: `GET /search`. Its configuration must allow the format `json`. */
export class SearxngEngine extends SearchEngine {
  readonly name = 'searxng';

  constructor(private readonly baseUrl: string) {
    super();
  }

  async search(query: SearchQuery): Promise<readonly SearchHit[]> {
    const url = new URL(`${this.baseUrl.replace(/\/+$/, '')}/search`);
    url.searchParams.set('q', withSiteOperators(query));
    url.searchParams.set('format', 'json');
    const answer = await callService(`search engine ${this.name}`, { url, work: query.work });
    return listOf(answer['results']).flatMap(
      (result) =>
        readHit({
          url: result['url'],
          title: result['title'],
          text: [result['content']],
          publishedAt: result['publishedDate'],
        }) ?? [],
    );
  }
}
