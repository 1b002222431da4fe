/** The moment in which rows gather for one commit. */
export class Gathering {
  /** Whether some call waits for the commit. */
  #isHurried = false;
  #end: (() => void) | null = null;

  constructor(private readonly longestMs: number) {}

  /** Ends the wait at once, or the next one: a call waits. */
  hurry(): void {
    this.#isHurried = true;
    this.#end?.();
  }

  /** Ends the wait in progress. */
  end(): void {
    this.#end?.();
  }

  /** Resolves at the end of this round of the event loop when some call waits, else after a moment. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#end = null;
        setImmediate(() => {
          this.#isHurried = false;
          resolve();
        });
      };
      const timer = setTimeout(end, this.longestMs);
      this.#end = end;
      if (this.#isHurried) end();
    });
  }
}
