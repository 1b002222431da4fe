/** A resource that can be lost and come back, such as a connection, with the callers that wait for it. */
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

  /** Only the current resource can be lost: a late report about a former one has no effect. */
  left(resource: T): void {
    if (this.#current === resource) this.#current = undefined;
  }

  /** @throws the reason of `signal` if it aborts first; such a wait leaves nothing behind */
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
