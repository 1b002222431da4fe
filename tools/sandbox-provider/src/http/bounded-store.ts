/** A map that holds at most `maximum` entries; the oldest one makes room for the newest. */
export class BoundedStore<T> {
  private readonly entries = new Map<string, T>();

  constructor(
    private readonly maximum: number,
    private readonly onEvict: (value: T) => void = () => undefined,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  get(id: string): T | undefined {
    return this.entries.get(id);
  }

  set(id: string, value: T): void {
    this.entries.set(id, value);
    while (this.entries.size > this.maximum) this.evictOldest();
  }

  delete(id: string): boolean {
    return this.entries.delete(id);
  }

  /** Newest first. */
  list(): T[] {
    return [...this.entries.values()].reverse();
  }

  /** Returns entries newest first, at most `limit`, beginning after the entry `after`; empty for an unknown one. */
  page(limit: number, after: string | null): { readonly entries: readonly T[]; readonly hasMore: boolean } {
    const ids = [...this.entries.keys()].reverse();
    const start = after === null ? 0 : ids.includes(after) ? ids.indexOf(after) + 1 : ids.length;
    const shown = ids.slice(start, start + limit);
    return { entries: shown.map((id) => this.entries.get(id)!), hasMore: start + limit < ids.length };
  }

  evictOldest(): void {
    const oldest = this.entries.entries().next();
    if (oldest.done) return;
    this.entries.delete(oldest.value[0]);
    this.onEvict(oldest.value[1]);
  }

  clear(): void {
    while (this.entries.size > 0) this.evictOldest();
  }
}
