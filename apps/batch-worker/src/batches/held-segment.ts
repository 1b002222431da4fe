import { Cancellation } from '@libs/inference';
import type { BatchLine, ClaimedSegment } from '@libs/persistence';

/** A line in the hands of this worker. */
export interface HeldLine extends BatchLine {
  readonly segment: HeldSegment;
  /** Calls made for it since this worker holds it. */
  tries: number;
  /** When the first of them was made, in milliseconds of the process's own clock; null before. */
  firstTryMs: number | null;
}

/**
 * After so many leases that ended in a dead worker, the lines of a segment go one at a time, so that the
 * line which kills workers is the first without a result.
 */
const ONE_AT_A_TIME_FROM = 3;
/** And after so many, that first line is given up. */
const GIVE_UP_FROM = 6;

/** A leased segment and what is left of it. */
export class HeldSegment {
  /** Lines not handed out yet, in order. */
  readonly ready: HeldLine[];
  /** Weight of the lines this worker took over. */
  readonly bytes: number;
  /** Lines without a stored result. */
  private unstored: number;
  private handedOut = 0;
  /** Handed out, and waiting until they may be tried again: what wakes them. */
  private readonly resting = new Map<HeldLine, NodeJS.Timeout>();
  private stopped = false;
  /** Ends the calls of its lines. */
  readonly calls = new Cancellation();
  lost = false;

  constructor(
    readonly claim: ClaimedSegment,
    lines: readonly BatchLine[],
  ) {
    this.ready = lines.map((line) => ({ ...line, segment: this, tries: 0, firstTryMs: null }));
    this.unstored = lines.length;
    this.bytes = lines.reduce((sum, line) => sum + line.body.length, 0);
  }

  get done(): boolean {
    return this.unstored === 0;
  }

  /** The line that seems to have killed its workers, to be answered with an error instead of a call. */
  takeSuspect(): HeldLine | null {
    return this.claim.attempts >= GIVE_UP_FROM ? this.take() : null;
  }

  /** Whether a line may run now: there is one, and no earlier one must end first. */
  get hasNext(): boolean {
    if (this.lost || this.stopped || this.ready.length === 0) return false;
    return this.claim.attempts < ONE_AT_A_TIME_FROM || this.handedOut === 0;
  }

  /** The next line to run, or null when none may run now. */
  next(): HeldLine | null {
    return this.hasNext ? this.take() : null;
  }

  /** A line waits until it may be tried again; it is ready by the time `then` is told. */
  rest(line: HeldLine, delayMs: number, then: () => void): void {
    const putBack = (): void => {
      this.resting.delete(line);
      this.handedOut -= 1;
      if (!this.stopped) this.ready.unshift(line);
      then();
    };
    this.resting.set(line, setTimeout(putBack, delayMs));
  }

  /** A line ends without a result. */
  drop(): void {
    this.handedOut -= 1;
  }

  /** Begins no more lines; those under way may still come to their results. */
  stop(): void {
    this.stopped = true;
    this.ready.length = 0;
  }

  /** Its lease ends unfinished: nothing of it is kept in memory. */
  giveBack(): void {
    this.lost = true;
    this.ready.length = 0;
    for (const timer of this.resting.values()) clearTimeout(timer);
    this.resting.clear();
  }

  /** Lines that wait for a slot, or until they may be tried again. */
  get waiting(): number {
    return this.ready.length + this.resting.size;
  }

  get isStopped(): boolean {
    return this.stopped;
  }

  /** Nothing of it is being called or waits to be committed. */
  get isIdle(): boolean {
    return this.handedOut === this.resting.size;
  }

  stored(): void {
    this.handedOut -= 1;
    this.unstored -= 1;
  }

  private take(): HeldLine | null {
    const line = this.ready.shift();
    if (line === undefined) return null;
    this.handedOut += 1;
    return line;
  }
}
