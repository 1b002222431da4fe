export interface SearchSettings {
  readonly query: string;
  /** No more matches than these are returned. */
  readonly most: number;
}

export interface SearchMatches {
  /** Positions of the matching texts, best first. */
  readonly places: readonly number[];
  /** How long the search took. */
  readonly ms: number;
}

/** Constants of Okapi BM25 with the usual values: the effect of repetition, and that of length. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/** A text that contains words of the query. */
interface Candidate {
  readonly place: number;
  /** Number of occurrences by query word. */
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/**
 * Ranks the texts of a JSON list by how well they match the words of a query; if equal, the earlier comes first. A text
 * without any word of the query does not match. Runs in a child (`parser-child.ts`).
 */
export function parse(payload: Uint8Array, { query, most }: SearchSettings): SearchMatches {
  const startMs = performance.now();
  const texts = JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(payload)) as string[];
  const wanted = new Set(wordsOf(query));
  const candidates: Candidate[] = [];
  let words = 0;
  for (const [place, text] of texts.entries()) {
    const found = wordsOf(text);
    words += found.length;
    const counts = countsOf(found, wanted);
    if (counts.size > 0) candidates.push({ place, counts, length: found.length });
  }
  const scoreOf = scorer(candidates, texts.length, words);
  const scored = candidates.map((candidate) => ({ place: candidate.place, score: scoreOf(candidate) }));
  scored.sort((one, other) => other.score - one.score);
  return { places: scored.slice(0, most).map(({ place }) => place), ms: performance.now() - startMs };
}

function countsOf(words: readonly string[], wanted: ReadonlySet<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) if (wanted.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** @param words in all texts together */
function scorer(candidates: readonly Candidate[], texts: number, words: number): (candidate: Candidate) => number {
  const having = new Map<string, number>();
  for (const { counts } of candidates) {
    for (const word of counts.keys()) having.set(word, (having.get(word) ?? 0) + 1);
  }
  const rarity = new Map(
    [...having].map(([word, count]) => [word, Math.log(1 + (texts - count + 0.5) / (count + 0.5))]),
  );
  const meanLength = Math.max(1, words / texts);
  return ({ counts, length }) => {
    const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / meanLength);
    let score = 0;
    for (const [word, count] of counts) score += (rarity.get(word)! * count * (SATURATION + 1)) / (count + norm);
    return score;
  };
}

/** Splits text into lower-case words; `getUserName` and `get_user_name` have three each. */
function wordsOf(text: string): string[] {
  const apart = text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2');
  return apart.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
