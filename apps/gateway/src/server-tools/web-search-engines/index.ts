import type { Secret } from '@libs/contracts';
import { BraveEngine } from './brave-engine';
import { ExaEngine } from './exa-engine';
import type { SearchEngine } from './search-engine';
import { SearxngEngine } from './searxng-engine';
import { TavilyEngine } from './tavily-engine';

/** Keys and URLs of the search engines of an installation. */
export interface SearchAccess {
  readonly EXA_API_KEY?: Secret;
  readonly TAVILY_API_KEY?: Secret;
  readonly BRAVE_API_KEY?: Secret;
  readonly SEARXNG_URL?: string;
}

/** Creates the configured engines; the first one searches if a request names none. */
export function createSearchEngines(access: SearchAccess): readonly SearchEngine[] {
  const { EXA_API_KEY: exa, TAVILY_API_KEY: tavily, BRAVE_API_KEY: brave, SEARXNG_URL: searxng } = access;
  return [
    ...(exa ? [new ExaEngine(exa)] : []),
    ...(tavily ? [new TavilyEngine(tavily)] : []),
    ...(brave ? [new BraveEngine(brave)] : []),
    ...(searxng === undefined ? [] : [new SearxngEngine(searxng)]),
  ];
}
