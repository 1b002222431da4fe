import { parseLink } from '@libs/contracts';
import type { OutsideWork } from '../../parsers/outside-work';
import type { DomainRules } from '../web-domains';
import type { SearchMode, UserLocation } from '../web-search-settings';

export interface SearchQuery {
  readonly text: string;
  readonly maxResults: number;
  /** Longest text of one result; an engine may return less. */
  readonly maxCharacters: number;
  readonly mode: SearchMode | null;
  /** An engine follows the rules as far as it can; the caller removes results that break them. */
  readonly domains: DomainRules;
  readonly location: UserLocation | null;
  readonly work: OutsideWork;
}

export interface SearchHit {
  readonly url: string;
  readonly title: string;
  /** The part of the page's text that the engine returns. */
  readonly text: string;
  /** In the engine's own format, or null. */
  readonly publishedAt: string | null;
}

/** A web search service. */
export abstract class SearchEngine {
  /** The `engine` of requests. */
  abstract readonly name: string;

  /** @throws AppError provider_unavailable or timeout; the signal's reason when it is aborted */
  abstract search(query: SearchQuery): Promise<readonly SearchHit[]>;
}

/** Reads one result of an engine's answer; null if it is not a valid result. */
export function readHit(hit: {
  readonly url: unknown;
  readonly title: unknown;
  readonly text: readonly unknown[];
  readonly publishedAt: unknown;
}): SearchHit | null {
  if (typeof hit.url !== 'string' || !/^https?:\/\//i.test(hit.url) || parseLink(hit.url) === null) return null;
  return {
    url: hit.url,
    title: typeof hit.title === 'string' ? hit.title : '',
    text: hit.text.filter((piece) => typeof piece === 'string' && piece !== '').join('\n'),
    publishedAt: typeof hit.publishedAt === 'string' ? hit.publishedAt : null,
  };
}

/** The longest query that an engine takes. */
interface QueryBounds {
  readonly characters: number;
  readonly words: number;
}

/**
 * For engines without parameters for domains: adds the operators that most engines understand to the query. If the
 * query gets too long, first words of its text are removed, then operators.
 */
export function withSiteOperators(
  { text, domains: { allowed, blocked } }: SearchQuery,
  { characters, words }: QueryBounds = UNBOUNDED,
): string {
  const wanted = allowed.map(({ host, path }) => `site:${host}${path}`).join(' OR ');
  const unwanted = blocked.map(({ host, path }) => `-site:${host}${path}`);
  const operators = [...(allowed.length > 1 ? [`(${wanted})`] : wanted === '' ? [] : [wanted]), ...unwanted].join(' ');
  if (operators === '') return cut(text, characters, words);
  const rest = cut(text, characters - operators.length - 1, words - wordsOf(operators).length);
  return cut(`${rest} ${operators}`.trim(), characters, words);
}

const UNBOUNDED: QueryBounds = { characters: Number.POSITIVE_INFINITY, words: Number.POSITIVE_INFINITY };

function cut(text: string, characters: number, words: number): string {
  const few = wordsOf(text).length > words ? wordsOf(text).slice(0, Math.max(0, words)).join(' ') : text;
  return few.slice(0, Math.max(0, characters));
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');
