import { SharedLine, SharedPool } from '@libs/contracts';
import { AppError } from '@libs/errors';

export interface WaitingPoolOptions {
  /** How long a request waits for memory or a slot. */
  readonly longestWaitMs: number;
  /** Requests that wait at once. */
  readonly mostWaiting: number;
  /** What a workspace that has nothing yet may take, however little is left for others then; absent: anything. */
  readonly smallAmount?: number;
}

const DEFAULTS: WaitingPoolOptions = { longestWaitMs: 2_000, mostWaiting: 256 };

/** A workspace may hold at most twice what is left for others, its organization three times. */
const WEIGHTS = [2, 3] as const;

/**
 * A pool that workspaces share. Requests that find no room wait in a queue of limited length, which is shared in the
 * same way.
 */
export class WaitingPool {
  protected readonly pool: SharedPool;
  readonly #line: SharedLine;
  readonly #longestWaitMs: number;

  constructor(size: number, options: Partial<WaitingPoolOptions> = {}) {
    const { longestWaitMs, mostWaiting, smallAmount } = { ...DEFAULTS, ...options };
    this.#longestWaitMs = longestWaitMs;
    this.pool = new SharedPool(size, WEIGHTS, smallAmount);
    this.#line = new SharedLine(this.pool, new SharedPool(mostWaiting, WEIGHTS));
  }

  get waiting(): number {
    return this.#line.waiting;
  }

  /** The most that one workspace may hold if no other holds anything. */
  get mostOfOne(): number {
    return Math.floor((this.pool.size * WEIGHTS[0]) / (WEIGHTS[0] + 1));
  }

  /** Takes the amount at once, or returns false. */
  take(holders: readonly string[], amount: number): boolean {
    return this.pool.take(holders, amount);
  }

  /** Resolves with whether the amount was taken, at the latest when the longest wait is over or the signal aborts. */
  wait(holders: readonly string[], amount: number, signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isTaken: boolean): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        resolve(isTaken);
      };
      const giveUp = (): void => {
        leave?.();
        end(false);
      };
      const timer = setTimeout(giveUp, this.#longestWaitMs);
      const leave = this.#line.wait(holders, amount, () => end(true));
      if (leave === null || signal?.aborted) giveUp();
      else signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /**
   * Runs the work when there is room for one more.
   * @param lack what there is too much of, for the log
   * @param signal aborts when nothing needs the work any more, if it has not begun
   * @throws AppError provider_overloaded if there is no room within the longest wait, or when the signal aborts
   */
  async run<T>(holders: readonly string[], work: () => Promise<T>, lack: string, signal?: AbortSignal): Promise<T> {
    const isIn = !signal?.aborted && (this.take(holders, 1) || (await this.wait(holders, 1, signal)));
    if (!isIn) {
      throw new AppError('provider_overloaded', 'The service is overloaded', { retryAfterSeconds: 5, internal: lack });
    }
    try {
      return await work();
    } finally {
      this.give(holders, 1);
    }
  }

  give(holders: readonly string[], amount: number): void {
    this.#line.give(holders, amount);
  }
}
