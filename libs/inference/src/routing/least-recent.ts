/** A map that holds so many entries and no more: the one that was longest without use makes room. */
export class LeastRecent<T> {
  readonly #entries = new Map<string, T>();

  constructor(private readonly most: number) {}

  get size(): number {
    return this.#entries.size;
  }

  /** Looks without using. */
  peek(key: string): T | undefined {
    return this.#entries.get(key);
  }

  /** The entry of this key, made when there is none; now the last to make room. */
  use(key: string, make: () => T): T {
    const entry = this.#entries.get(key) ?? make();
    this.set(key, entry);
    return entry;
  }

  set(key: string, entry: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > this.most) this.#entries.delete(this.#entries.keys().next().value!);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
