/** Counts running calls, so that a process that stops can wait for their charges. */
export class OpenCalls {
  #count = 0;
  #onIdle: (() => void) | null = null;

  began(): void {
    this.#count += 1;
  }

  ended(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onIdle?.();
  }

  /** Resolves when every call has ended, or when the signal aborts. */
  async idle(signal: AbortSignal): Promise<void> {
    if (this.#count === 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
