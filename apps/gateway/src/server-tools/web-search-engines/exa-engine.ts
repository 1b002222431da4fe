import type { Secret } from '@libs/contracts';
import { listOf } from '../named-tools';
import { callService } from '../operator-service';
import { readHit, SearchEngine, type SearchHit, type SearchQuery } from './search-engine';

/** Exa's search types; for other modes Exa chooses. */
const TYPES = new Set(['instant', 'fast', 'auto', 'deep-lite', 'deep', 'deep-reasoning']);

/** Exa: `POST /search` with the text of the pages. */
export class ExaEngine extends SearchEngine {
  readonly name = 'exa';

  constructor(
    private readonly key: Secret,
    private readonly baseUrl = 'https://api.exa.ai',
  ) {
    super();
  }

  async search(query: SearchQuery): Promise<readonly SearchHit[]> {
    const { domains, mode, location, work } = query;
    const answer = await callService(`search engine ${this.name}`, {
      url: new URL(`${this.baseUrl}/search`),
      headers: { 'x-api-key': this.key.reveal() },
      body: {
        query: query.text,
        type: mode !== null && TYPES.has(mode) ? mode : 'auto',
        numResults: query.maxResults,
        contents: { text: { maxCharacters: query.maxCharacters } },
        ...(domains.allowed.length > 0 && { includeDomains: domains.allowed.map(({ host, path }) => host + path) }),
        ...(domains.blocked.length > 0 && { excludeDomains: domains.blocked.map(({ host, path }) => host + path) }),
        ...(location?.country && { userLocation: location.country }),
      },
      work,
    });
    return listOf(answer['results']).flatMap(
      ({ url, title, text, publishedDate }) => readHit({ url, title, text: [text], publishedAt: publishedDate }) ?? [],
    );
  }
}
