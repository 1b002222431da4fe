import type { DomainRules } from '../web-domains';
import type { SearchMode, UserLocation } from '../web-search-settings';

export interface SearchQuery {
  readonly text: string;
  readonly maxResults: number;
  /** Of the text of one result; an engine may give less. */
  readonly maxCharacters: number;
  readonly mode: SearchMode | null;
  /** A wish that an engine takes as far as it can; what it finds beyond it is dropped by the caller. */
  readonly domains: DomainRules;
  readonly location: UserLocation | null;
  readonly signal: AbortSignal;
}

export interface SearchHit {
  readonly url: string;
  readonly title: string;
  /** What the engine shows of the page. */
  readonly text: string;
  /** As the engine writes it, or null. */
  readonly publishedAt: string | null;
}

/** One search service on the web. */
export abstract class SearchEngine {
  /** The `engine` of requests. */
  abstract readonly name: string;

  /** @throws AppError provider_unavailable or timeout; the signal's reason when it is aborted */
  abstract search(query: SearchQuery): Promise<readonly SearchHit[]>;
}

/** Reads one result of an engine's answer; null for what is no result. */
export function readHit(hit: {
  readonly url: unknown;
  readonly title: unknown;
  readonly text: readonly unknown[];
  readonly publishedAt: unknown;
}): SearchHit | null {
  if (typeof hit.url !== 'string' || !/^https?:\/\//i.test(hit.url) || !URL.canParse(hit.url)) return null;
  return {
    url: hit.url,
    title: typeof hit.title === 'string' ? hit.title : '',
    text: hit.text.filter((piece) => typeof piece === 'string' && piece !== '').join('\n'),
    publishedAt: typeof hit.publishedAt === 'string' ? hit.publishedAt : null,
  };
}

/** For engines without parameters for domains: the operators that most of them understand in the query itself. */
export function withSiteOperators({ text, domains: { allowed, blocked } }: SearchQuery): string {
  const wanted = allowed.map(({ host, path }) => `site:${host}${path}`).join(' OR ');
  const unwanted = blocked.map(({ host, path }) => `-site:${host}${path}`);
  return [text, ...(allowed.length > 1 ? [`(${wanted})`] : wanted === '' ? [] : [wanted]), ...unwanted].join(' ');
}
