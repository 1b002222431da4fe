import { setMaxListeners } from 'node:events';
import { AppError } from '@libs/errors';

/** The requests that are being worked on, how many there may be, and their end when the app stops. */
export class InFlight {
  private count = 0;
  private readonly stopping = new AbortController();
  private readonly idleWaiters = new Set<() => void>();

  constructor(private readonly max: number) {
    // One listener per stream that is under way.
    setMaxListeners(0, this.stopping.signal);
  }

  get size(): number {
    return this.count;
  }

  /** Fires when what is still under way has to come to its end now. */
  get stopSignal(): AbortSignal {
    return this.stopping.signal;
  }

  /** What a request is refused with that would be one too many, or null. */
  get problem(): AppError | null {
    if (this.count < this.max) return null;
    return new AppError('provider_overloaded', 'The service is overloaded', { retryAfterSeconds: 1 });
  }

  enter(): void {
    this.count += 1;
  }

  leave(): void {
    this.count -= 1;
    if (this.count > 0) return;
    for (const wake of this.idleWaiters) wake();
    this.idleWaiters.clear();
  }

  /** Waits until nothing is under way; at `signal` whatever still is has to stop. */
  async drain(signal: AbortSignal): Promise<void> {
    if (this.count === 0) return;
    const idle = new Promise<void>((resolve) => this.idleWaiters.add(resolve));
    const stop = (): void => this.stopping.abort();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    await idle;
    signal.removeEventListener('abort', stop);
  }
}
