/** How much of an answer is read after its caller has disconnected. */
export interface LeftoverBounds {
  /**
   * Most leftover reads at once in one process. If this or `longestMs` is 0, calls end when their callers disconnect.
   */
  readonly mostReads: number;
  /**
   * Most milliseconds from the disconnection to the end of the upstream call. Infinity: only the call's own deadline
   * ends it.
   */
  readonly longestMs: number;
  /** Most output tokens of one stream after the disconnection, as an estimate. */
  readonly mostTokens: number;
  /** Bytes of one stream after the disconnection. */
  readonly mostBytes: number;
}

export const LEFTOVER_BOUNDS: LeftoverBounds = {
  mostReads: 512,
  longestMs: 30_000,
  mostTokens: 2_000,
  mostBytes: 1024 * 1024,
};

/**
 * Share of `mostReads` for one organization, so that its disconnections do not turn the bills of others into estimates.
 */
const OWNER_SHARE = 1 / 8;
/**
 * Most bytes of prompts and answers that all leftover reads together, and those of one organization, may keep in
 * memory.
 */
const MOST_KEPT_BYTES = 64 * 1024 * 1024;
const MOST_KEPT_OF_OWNER = MOST_KEPT_BYTES / 2;
/** Bytes that may be read of a patient stream, as a multiple of `mostBytes`. */
const PATIENT_FACTOR = 64;

/** What a call may do after its caller has disconnected. */
export interface LeaveTerms {
  /**
   * Takes one of the slots for leftover reads. Returns null if none is free.
   * @param keptBytes bytes that the call keeps in memory
   * @param onEnd called once when the read must end
   */
  begin(keptBytes: number, onEnd: () => void): LeftoverRead | null;
  /**
   * Returns the terms of a call whose media may cost more than estimated. The gateway reads such a call until its own
   * deadline, because only the provider's usage shows its cost.
   */
  readonly patient?: () => LeaveTerms;
  /**
   * True if a patient call was not read to its end because its organization abandons too many calls or too long ones.
   */
  readonly isUnread?: boolean;
}

/** An upstream call that is read only to get its usage. */
export interface LeftoverRead {
  readonly mostTokens: number;
  /** Counts bytes of a stream. Returns false if there were too many. */
  passes(bytes: number): boolean;
  /** Counts bytes that stay in memory. Returns false if all leftover reads together keep too many. */
  keeps(bytes: number): boolean;
  /** Gives the place back. Idempotent. */
  close(): void;
}

/**
 * The leftover reads of one process: upstream calls whose caller has disconnected and that continue until the provider
 * has reported the usage. Their number, time and memory are limited; a call beyond the limits ends at once.
 */
export class LeftoverReads {
  readonly #running = new Set<RunningRead>();
  readonly #shares = new Map<string, Share>();
  #keptBytes = 0;
  #onIdle: (() => void) | null = null;

  constructor(readonly bounds: LeftoverBounds = LEFTOVER_BOUNDS) {}

  /** Number of running reads. */
  get size(): number {
    return this.#running.size;
  }

  /** Returns the terms of one call. `owner` is the organization whose slots it uses. */
  termsFor(owner: string): LeaveTerms {
    return {
      begin: (keptBytes, onEnd) => this.#begin(owner, this.bounds, { keptBytes, onEnd }),
      patient: () => new PatientTerms((leaving) => this.#beginPatiently(owner, leaving)),
    };
  }

  /** Resolves when no leftover read is running. Ends those that still run when `signal` aborts. */
  async drain(signal: AbortSignal): Promise<void> {
    const stop = (): void => {
      for (const read of this.#running) read.end();
    };
    if (signal.aborted) stop();
    if (this.#running.size === 0) return;
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
    signal.addEventListener('abort', stop, { once: true });
    await idle;
    signal.removeEventListener('abort', stop);
  }

  #beginPatiently(owner: string, leaving: Leaving): LeftoverRead | null {
    if (this.bounds.longestMs > 0 && this.#isShareFull(owner, leaving.keptBytes)) leaving.onFull?.();
    const mostBytes = this.bounds.mostBytes * PATIENT_FACTOR;
    return this.#begin(owner, { ...this.bounds, longestMs: Infinity, mostTokens: Infinity, mostBytes }, leaving);
  }

  #begin(owner: string, bounds: LeftoverBounds, leaving: Leaving): LeftoverRead | null {
    const { keptBytes } = leaving;
    if (this.bounds.longestMs === 0 || this.#isShareFull(owner, keptBytes)) return null;
    if (this.#running.size >= bounds.mostReads || this.#keptBytes + keptBytes > MOST_KEPT_BYTES) return null;
    const share = this.#shareOf(owner);
    const read = new RunningRead(bounds, leaving, {
      keep: (bytes) => this.#keep(share, bytes, leaving),
      close: (kept) => this.#close(owner, read, kept),
    });
    this.#running.add(read);
    this.#shares.set(owner, share);
    share.reads += 1;
    read.keeps(keptBytes);
    read.endAfter(bounds.longestMs);
    return read;
  }

  #shareOf(owner: string): Share {
    return this.#shares.get(owner) ?? { reads: 0, keptBytes: 0 };
  }

  #isShareFull(owner: string, moreBytes: number): boolean {
    const { reads, keptBytes } = this.#shareOf(owner);
    return reads >= Math.ceil(this.bounds.mostReads * OWNER_SHARE) || keptBytes + moreBytes > MOST_KEPT_OF_OWNER;
  }

  #keep(share: Share, bytes: number, { onFull }: Leaving): boolean {
    this.#keptBytes += bytes;
    share.keptBytes += bytes;
    if (share.keptBytes > MOST_KEPT_OF_OWNER) onFull?.();
    return this.#keptBytes <= MOST_KEPT_BYTES && share.keptBytes <= MOST_KEPT_OF_OWNER;
  }

  #close(owner: string, read: RunningRead, keptBytes: number): void {
    this.#running.delete(read);
    this.#keptBytes -= keptBytes;
    const share = this.#shareOf(owner);
    share.reads -= 1;
    share.keptBytes -= keptBytes;
    if (share.reads <= 0) this.#shares.delete(owner);
    if (this.#running.size === 0) this.#onIdle?.();
  }
}

/** Places and memory that one owner uses. */
interface Share {
  reads: number;
  keptBytes: number;
}

/** A call whose caller has disconnected. */
interface Leaving {
  /** Bytes that the read keeps in memory so far. */
  readonly keptBytes: number;
  /** Called once when the read must end. */
  readonly onEnd: () => void;
  /** Called if its organization has no slot or memory left for it, or if its stream is too long. */
  readonly onFull?: () => void;
}

/** The terms of one patient call. */
class PatientTerms implements LeaveTerms {
  isUnread = false;

  constructor(private readonly take: (leaving: Leaving) => LeftoverRead | null) {}

  begin(keptBytes: number, onEnd: () => void): LeftoverRead | null {
    return this.take({ keptBytes, onEnd, onFull: () => (this.isUnread = true) });
  }
}

interface Places {
  readonly keep: (bytes: number) => boolean;
  readonly close: (keptBytes: number) => void;
}

class RunningRead implements LeftoverRead {
  #leftBytes: number;
  #keptBytes = 0;
  #isOpen = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly bounds: LeftoverBounds,
    private readonly leaving: Leaving,
    private readonly places: Places,
  ) {
    this.#leftBytes = bounds.mostBytes;
  }

  get mostTokens(): number {
    return this.bounds.mostTokens;
  }

  endAfter(ms: number): void {
    if (ms < Infinity) this.#timer = setTimeout(() => this.end(), ms).unref();
  }

  passes(bytes: number): boolean {
    this.#leftBytes -= bytes;
    if (this.#leftBytes < 0) this.leaving.onFull?.();
    return this.#leftBytes >= 0;
  }

  keeps(bytes: number): boolean {
    if (!this.#isOpen) return false;
    this.#keptBytes += bytes;
    return this.places.keep(bytes);
  }

  end(): void {
    if (!this.#isOpen) return;
    this.leaving.onEnd();
    this.close();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#timer);
    this.places.close(this.#keptBytes);
  }
}
