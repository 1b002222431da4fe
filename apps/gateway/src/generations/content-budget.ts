/** Bytes that may wait in memory. The code that takes some gives them back. */
export class ContentBudget {
  #free: number;

  constructor(mostBytes: number) {
    this.#free = mostBytes;
  }

  /** Returns false, and takes nothing, if fewer are left. */
  take(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}
