/** Weights of Okapi BM25 as most engines have them: how fast repetition wears off, and how much length counts. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

interface Entry<T> {
  readonly item: T;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Ranks a few hundred short texts by how well they match the words of a query. */
export class Bm25<T> {
  readonly #entries: readonly Entry<T>[];
  readonly #documentsWith = new Map<string, number>();
  readonly #meanLength: number;

  constructor(items: readonly T[], textOf: (item: T) => string) {
    this.#entries = items.map((item) => {
      const words = wordsOf(textOf(item));
      const counts = new Map<string, number>();
      for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
      for (const word of counts.keys()) this.#documentsWith.set(word, (this.#documentsWith.get(word) ?? 0) + 1);
      return { item, counts, length: words.length };
    });
    const total = this.#entries.reduce((sum, { length }) => sum + length, 0);
    this.#meanLength = Math.max(1, total / Math.max(1, this.#entries.length));
  }

  /** The best matches, best first; of equal ones the earlier. Nothing that shares no word with the query. */
  search(query: string, most: number): readonly T[] {
    const words = new Set(wordsOf(query));
    return this.#entries
      .map((entry) => ({ item: entry.item, score: this.#score(entry, words) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score)
      .slice(0, most)
      .map(({ item }) => item);
  }

  #score({ counts, length }: Entry<T>, words: ReadonlySet<string>): number {
    const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / this.#meanLength);
    let score = 0;
    for (const word of words) {
      const count = counts.get(word) ?? 0;
      if (count > 0) score += (this.#rarity(word) * count * (SATURATION + 1)) / (count + norm);
    }
    return score;
  }

  #rarity(word: string): number {
    const having = this.#documentsWith.get(word) ?? 0;
    return Math.log(1 + (this.#entries.length - having + 0.5) / (having + 0.5));
  }
}

/** Words in lower case; `getUserName` and `get_user_name` are three. */
function wordsOf(text: string): string[] {
  const apart = text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2');
  return apart.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
