import type { InFlight, RequestLife } from './in-flight';

/** How long clients may read nothing, or too little, of their answers, in milliseconds. */
export interface UnreadTimes {
  readonly idleMs: number;
  /** The limit for answers beyond the memory budget, while it is exceeded. */
  readonly overdrawnIdleMs: number;
  /** Time between two checks. */
  readonly lookMs: number;
}

/** While the budget is exceeded, other requests wait up to 2 s for memory, so room must be made within that time. */
export const UNREAD_TIMES: UnreadTimes = { idleMs: 60_000, overdrawnIdleMs: 1_000, lookMs: 250 };

/** How much a connection had sent when it last made enough progress. */
interface Progress {
  readonly sentBytes: number;
  readonly seenMs: number;
}

/**
 * Closes connections whose clients do not read their answers, on every route. Otherwise a client could keep a slot and
 * memory indefinitely.
 */
export class UnreadAnswers {
  #progress = new Map<RequestLife, Progress>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly inFlight: InFlight,
    private readonly times: UnreadTimes = UNREAD_TIMES,
  ) {
    this.#timer = setInterval(() => this.#look(), times.lookMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = performance.now();
    const progress = new Map<RequestLife, Progress>();
    for (const life of this.inFlight) {
      const sentBytes = sentBytesOf(life);
      if (sentBytes === null) continue;
      const known = this.#progress.get(life);
      const isIdle = known !== undefined && sentBytes - known.sentBytes < life.leastBytes;
      const seen = isIdle ? known : { sentBytes, seenMs: nowMs };
      if (nowMs - seen.seenMs >= this.times.idleMs) cut(life);
      else progress.set(life, seen);
    }
    this.#progress = progress;
    if (this.inFlight.pools.memory.isOverdrawn) this.#makeRoom(nowMs - this.times.overdrawnIdleMs);
  }

  /**
   * Closes idle answers until the memory budget is no longer exceeded, those of the workspace with the most memory
   * first.
   */
  #makeRoom(idleSinceMs: number): void {
    const { memory } = this.inFlight.pools;
    const idle = [...this.#progress].filter(([{ claim }, { seenMs }]) => claim.isBeyondRoom && seenMs <= idleSinceMs);
    const lives = idle.map(([life]) => life);
    lives.sort((one, other) => other.claim.bytesOfWorkspace - one.claim.bytesOfWorkspace);
    for (const life of lives) {
      if (!memory.isOverdrawn) return;
      cut(life);
      this.#progress.delete(life);
    }
  }
}

/** Returns how much the connection has sent; null if it has nothing to send. */
function sentBytesOf({ response }: RequestLife): number | null {
  const socket = response?.socket ?? null;
  if (socket === null || socket.writableLength === 0) return null;
  return socket.bytesWritten - socket.writableLength;
}

/** Closes the connection; frees the memory of its answer at once. */
function cut({ response, claim }: RequestLife): void {
  response?.destroy();
  claim.release();
}
