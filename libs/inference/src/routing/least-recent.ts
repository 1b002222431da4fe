/**
 * A map that holds at most so many entries: those that were longest without use make room. Two generations
 * instead of one order: what is used moves to the younger one, and when that is full the older one goes as a
 * whole. So a use costs two look-ups, not a deletion and an insertion, and at least the `most / 2` entries
 * used last are always there.
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

  /** The entry of this key, made when there is none; now among the last to make room. */
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
