import type { PatternMatches, PatternSettings } from '../parsers/pattern-match';
import type { PlaceWork } from '../parsers/parser-places';
import type { ParserOutcome, ParserPool } from '../parsers/parser-pool';

/** For one pattern. One can be made to take for ever; honest ones take a few milliseconds. */
const TIMEOUT_MS = 1_000;
/** For all patterns of one request. */
const MOST_MS = 2_000;

/** Places of the texts that match, or a sentence for the model that says why there are none. */
export type PatternResult = readonly number[] | string;

/**
 * Searches the texts of one request for regular expressions, in a child of parsers: models write them, so they may
 * take any time. One search of a request runs at a time, and together they take no longer than a bound.
 */
export class PatternSearch {
  readonly #payload: Buffer;
  #leftMs = MOST_MS;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parsers: ParserPool,
    texts: readonly string[],
  ) {
    this.#payload = Buffer.from(JSON.stringify(texts));
  }

  /** @throws the signal's reason when it is aborted */
  search(pattern: string, most: number, work: PlaceWork): Promise<PatternResult> {
    const search = this.#last.then(() => this.#search({ pattern, most }, work));
    this.#last = search.catch(() => undefined);
    return search;
  }

  async #search(settings: PatternSettings, work: PlaceWork): Promise<PatternResult> {
    work.signal.throwIfAborted();
    const timeoutMs = Math.min(TIMEOUT_MS, Math.ceil(this.#leftMs));
    if (timeoutMs <= 0) return 'No more patterns can be searched for in this request.';
    const task = { parser: 'pattern-match', settings, payload: this.#payload, timeoutMs } as const;
    const outcome = await this.parsers.run(task, work);
    if (outcome.state === 'refused') return 'Too many searches are under way. Try again later.';
    if (outcome.state === 'done' && outcome.value === null) {
      return 'The query is no regular expression that can be searched for.';
    }
    const matches = matchesOf(outcome);
    this.#leftMs -= matches?.ms ?? timeoutMs;
    return matches?.places ?? 'The pattern takes too long to search for. Try a simpler one.';
  }
}

/** Null for a search that did not end, and for an answer of another shape. */
function matchesOf(outcome: ParserOutcome): PatternMatches | null {
  if (outcome.state !== 'done' || typeof outcome.value !== 'object' || outcome.value === null) return null;
  const { places, ms } = outcome.value as Readonly<Record<keyof PatternMatches, unknown>>;
  if (!Array.isArray(places) || typeof ms !== 'number' || !(ms >= 0)) return null;
  return places.every(Number.isSafeInteger) ? { places: places as number[], ms } : null;
}
