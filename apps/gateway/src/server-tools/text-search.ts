import type { PlaceWork } from '../parsers/parser-places';
import type { ParserOutcome, ParserPool } from '../parsers/parser-pool';
import type { ParserName } from '../parsers/parser-process';
import type { SearchMatches, SearchSettings } from '../parsers/word-match';

/** Time for one search. A pattern can be made to take for ever; honest searches take a few milliseconds. */
const TIMEOUT_MS = 1_000;
/** Time for all searches of one request. */
const MOST_MS = 2_000;

/** Positions of the matching texts, or a sentence for the model that says why there are none. */
export type SearchResult = readonly number[] | string;

/**
 * Searches the texts of one request with a query that a model writes. A query can be made to take unlimited time, so a
 * parser child process runs it. One search of a request runs at a time, and their total time is limited.
 */
export class TextSearch {
  readonly #payload: Buffer;
  #leftMs = MOST_MS;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parsers: ParserPool,
    private readonly parser: Extract<ParserName, 'word-match' | 'pattern-match'>,
    texts: readonly string[],
  ) {
    this.#payload = Buffer.from(JSON.stringify(texts));
  }

  /** @throws the signal's reason when it is aborted */
  search(settings: SearchSettings, work: PlaceWork): Promise<SearchResult> {
    const search = this.#last.then(() => this.#search(settings, work));
    this.#last = search.catch(() => undefined);
    return search;
  }

  async #search(settings: SearchSettings, work: PlaceWork): Promise<SearchResult> {
    work.signal.throwIfAborted();
    const timeoutMs = Math.min(TIMEOUT_MS, Math.ceil(this.#leftMs));
    if (timeoutMs <= 0) return 'No more searches can be made in this request.';
    const outcome = await this.parsers.run({ parser: this.parser, settings, payload: this.#payload, timeoutMs }, work);
    if (outcome.state === 'refused') return 'Too many searches are under way. Try again later.';
    if (outcome.state === 'done' && outcome.value === null) {
      return 'The query is no regular expression that can be searched for.';
    }
    const matches = matchesOf(outcome);
    this.#leftMs -= matches?.ms ?? timeoutMs;
    return matches?.places ?? 'The query takes too long to search for. Try a simpler one.';
  }
}

/** Returns the matches that a search found; null if it did not finish or its answer is invalid. */
function matchesOf(outcome: ParserOutcome): SearchMatches | null {
  if (outcome.state !== 'done' || typeof outcome.value !== 'object' || outcome.value === null) return null;
  const { places, ms } = outcome.value as Readonly<Record<keyof SearchMatches, unknown>>;
  if (!Array.isArray(places) || typeof ms !== 'number' || !(ms >= 0)) return null;
  return places.every(Number.isSafeInteger) ? { places: places as number[], ms } : null;
}
