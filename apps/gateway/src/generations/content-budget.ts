/** Limits the bytes that may wait in memory. Code that takes bytes must give them back. */
export class ContentBudget {
  #free: number;

  constructor(mostBytes: number) {
    this.#free = mostBytes;
  }

  /** Returns false, and takes nothing, if too few bytes are left. */
  take(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}
