interface Entry<T> {
  readonly value: Promise<T>;
  /** By `performance.now`; infinite while the value is being read. */
  freshUntilMs: number;
}

/** Reading takes at most 1/`PARTS` of the time. */
const PARTS = 20;
const MOST_ENTRIES = 500;

/**
 * Caches a value for twenty times as long as it took to read. So a cheap value is always fresh, and an expensive one is
 * not read again for each of many callers.
 */
export class BriefCache<T> {
  readonly #entries = new Map<string, Entry<T>>();

  constructor(private readonly read: (key: string) => Promise<T>) {}

  get(key: string): Promise<T> {
    const known = this.#entries.get(key);
    if (known !== undefined && performance.now() < known.freshUntilMs) return known.value;
    return this.#begin(key);
  }

  #begin(key: string): Promise<T> {
    const beganMs = performance.now();
    const entry: Entry<T> = { value: this.read(key), freshUntilMs: Infinity };
    if (this.#entries.size >= MOST_ENTRIES) this.#entries.clear();
    this.#entries.set(key, entry);
    entry.value.then(
      () => (entry.freshUntilMs = performance.now() + (performance.now() - beganMs) * PARTS),
      () => this.#entries.delete(key),
    );
    return entry.value;
  }
}
