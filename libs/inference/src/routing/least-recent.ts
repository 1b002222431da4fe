/**
 * A map with a limited number of entries, which drops the least recently used ones. It has two generations instead of
 * one order: a used entry moves to the younger generation, and when that is full the older one is dropped as a whole.
 * So a use costs two look-ups instead of a deletion and an insertion, and at least the `most / 2` entries used last are
 * always present.
 */
export class LeastRecent<T> {
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  constructor(private readonly most: number) {}

  get size(): number {
    let size = this.#young.size;
    for (const key of this.#old.keys()) if (!this.#young.has(key)) size += 1;
    return size;
  }

  /** Looks without using. */
  peek(key: string): T | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** Returns the entry of this key, and creates it if there is none. It becomes the most recently used one. */
  use(key: string, make: () => T): T {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const entry = this.#old.get(key) ?? make();
    this.set(key, entry);
    return entry;
  }

  set(key: string, entry: T): void {
    this.#young.set(key, entry);
    if (this.#young.size * 2 < this.most) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
