/** Bytes that may wait in memory. Whoever takes some gives them back. */
export class ContentBudget {
  #free: number;

  constructor(mostBytes: number) {
    this.#free = mostBytes;
  }

  /** False when there are not so many left; then nothing was taken. */
  take(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}
