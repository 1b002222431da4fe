/** A resource that comes and goes, such as a connection, and those who wait for its next coming. */
export class Availability<T extends object> {
  #current: T | undefined;
  readonly #waiting = new Set<PromiseWithResolvers<T>>();

  get current(): T | undefined {
    return this.#current;
  }

  arrived(resource: T): void {
    this.#current = resource;
    for (const waiter of this.#waiting) waiter.resolve(resource);
    this.#waiting.clear();
  }

  /** Only the resource that is current can leave: a late word about an older one changes nothing. */
  left(resource: T): void {
    if (this.#current === resource) this.#current = undefined;
  }

  /** @throws the reason of `signal` when it aborts first; such a wait leaves nothing behind */
  async wait(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#current) return this.#current;
    const waiter = Promise.withResolvers<T>();
    const giveUp = (): void => waiter.reject(signal.reason as Error);
    this.#waiting.add(waiter);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await waiter.promise;
    } finally {
      this.#waiting.delete(waiter);
      signal.removeEventListener('abort', giveUp);
    }
  }
}
