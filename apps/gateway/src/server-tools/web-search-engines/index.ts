import type { Secret } from '@libs/contracts';
import { BraveEngine } from './brave-engine';
import { ExaEngine } from './exa-engine';
import type { SearchEngine } from './search-engine';
import { SearxngEngine } from './searxng-engine';
import { TavilyEngine } from './tavily-engine';

/** What an installation has to search with. */
export interface SearchAccess {
  readonly EXA_API_KEY?: Secret;
  readonly TAVILY_API_KEY?: Secret;
  readonly BRAVE_API_KEY?: Secret;
  readonly SEARXNG_URL?: string;
}

/** The engines that are configured; the first is the one that searches when a request names none. */
export function createSearchEngines(access: SearchAccess): readonly SearchEngine[] {
  const { EXA_API_KEY: exa, TAVILY_API_KEY: tavily, BRAVE_API_KEY: brave, SEARXNG_URL: searxng } = access;
  return [
    ...(exa ? [new ExaEngine(exa)] : []),
    ...(tavily ? [new TavilyEngine(tavily)] : []),
    ...(brave ? [new BraveEngine(brave)] : []),
    ...(searxng === undefined ? [] : [new SearxngEngine(searxng)]),
  ];
}
