import { Cancellation, monotonicMs } from '@libs/inference';
import { CALLED_ALONE, ONE_AT_A_TIME_FROM, type BatchLine, type ClaimedSegment } from '@libs/persistence';
import type { AppError } from '@libs/errors';
import { BatchFund } from './batch-fund';

/** Facts about the tries of a line. */
export interface LineTries {
  /** Calls for the line that this worker made since it claimed it. */
  tries: number;
  /** When the first try was made, in milliseconds of the process's own clock; null before. */
  firstTryMs: number | null;
  /**
   * When the last try ended, or the first began, by the same clock. Answers to other lines since then are compared with
   * this line.
   */
  comparedFromMs: number;
  /** Failures that may be its own fault. */
  doubtful: number;
  /** Number of tries whose failure counts against the line. */
  counted: number;
  /** Error of the last try; null before. */
  lastError: AppError | null;
  /** The line is not tried again before this time, by the same clock. */
  restsUntilMs: number;
}

const UNTRIED: LineTries = {
  tries: 0,
  firstTryMs: null,
  comparedFromMs: 0,
  doubtful: 0,
  counted: 0,
  lastError: null,
  restsUntilMs: 0,
};

/** A line that this worker holds. */
export interface HeldLine extends BatchLine, LineTries {
  readonly segment: HeldSegment;
}

/** A leased segment and its remaining lines. */
export class HeldSegment {
  /** Lines not handed out yet, in order. */
  readonly ready: HeldLine[];
  /** Bytes of the lines that this worker took over. */
  readonly bytes: number;
  /** Lines without a stored result. */
  private unstored: number;
  private handedOut = 0;
  /** Lines that wait until they may be tried again, with the function that wakes each. */
  private readonly resting = new Map<HeldLine, NodeJS.Timeout>();
  private stopped = false;
  /** Ends the calls of its lines. */
  readonly calls = new Cancellation();
  lost = false;
  /** When the window of its batch ends, by the process's own clock; updated by each renewal of the lease. */
  windowEndsAtMs: number;

  constructor(
    readonly claim: ClaimedSegment,
    lines: readonly BatchLine[],
    /** The provider quota against which its calls count. */
    readonly quota: string,
    /** The fund that pays for its lines, shared by the segments of its batch. */
    readonly fund = new BatchFund<HeldSegment>(),
  ) {
    this.ready = lines.map((line) => ({ ...line, segment: this, ...UNTRIED }));
    this.unstored = lines.length;
    this.windowEndsAtMs = claim.windowEndsAtMs;
    this.bytes = lines.reduce((sum, line) => sum + line.body.length, 0);
  }

  get done(): boolean {
    return this.unstored === 0;
  }

  /** Returns the line that seems to have killed its workers, to be answered with an error instead of being called. */
  takeSuspect(): HeldLine | null {
    return this.claim.attempts >= CALLED_ALONE ? this.take() : null;
  }

  /** Whether a line may run now: there is one, and no earlier one must end first. */
  get hasNext(): boolean {
    if (this.lost || this.stopped || this.ready.length === 0) return false;
    return !this.isSerial || this.handedOut === 0;
  }

  /** Returns the next line to run, or null if none may run now. */
  next(): HeldLine | null {
    return this.hasNext ? this.take() : null;
  }

  /** Whether its lines run one at a time, as workers died that had it. */
  private get isSerial(): boolean {
    return this.claim.attempts >= ONE_AT_A_TIME_FROM;
  }

  /**
   * Makes a line wait until it may be tried again; it is ready when `then` is called. It goes behind the others, so
   * that one line that always fails is not every probe. If lines run one at a time, it stays the first.
   */
  rest(line: HeldLine, delayMs: number, then: () => void): void {
    const putBack = (): void => {
      this.resting.delete(line);
      this.handedOut -= 1;
      if (!this.stopped) this.putBack(line);
      then();
    };
    line.restsUntilMs = monotonicMs() + delayMs;
    this.resting.set(line, setTimeout(putBack, delayMs));
  }

  /**
   * Restores the tries of its lines from when this worker gave the segment back; `then` is called as for waiting lines.
   */
  resume(known: ReadonlyMap<number, LineTries>, then: () => void): void {
    const tried = this.ready.filter(({ seq }) => known.has(seq));
    for (const line of tried) Object.assign(line, known.get(line.seq));
    // The first line without a result stays the first.
    if (this.isSerial) return;
    this.ready.sort((one, other) => Number(one.tries > 0) - Number(other.tries > 0));
    const nowMs = monotonicMs();
    const resting = tried.filter(({ restsUntilMs }) => restsUntilMs > nowMs);
    for (const line of resting) {
      this.ready.splice(this.ready.indexOf(line), 1);
      this.handedOut += 1;
      this.rest(line, line.restsUntilMs - nowMs, then);
    }
  }

  isResting(line: HeldLine): boolean {
    return this.resting.has(line);
  }

  /** Takes out the lines that failed before and wait, to be ended with their last failure. */
  takeFailed(): HeldLine[] {
    const taken = [...this.resting.keys()];
    for (const timer of this.resting.values()) clearTimeout(timer);
    this.resting.clear();
    const untried = this.ready.filter(({ lastError }) => lastError === null);
    const failed = this.ready.filter(({ lastError }) => lastError !== null);
    this.ready.splice(0, this.ready.length, ...untried);
    this.handedOut += failed.length;
    return [...taken, ...failed];
  }

  /** Takes out all lines that wait. */
  takeWaiting(): HeldLine[] {
    const failed = this.takeFailed();
    this.handedOut += this.ready.length;
    return [...failed, ...this.ready.splice(0)];
  }

  /** A line ends without a result. */
  drop(): void {
    this.handedOut -= 1;
  }

  /** Begins no more lines; running lines may still finish. */
  stop(): void {
    this.stopped = true;
    this.ready.length = 0;
  }

  /** Releases the segment unfinished and clears its memory. Returns the tries of its lines by position. */
  giveBack(): Map<number, LineTries> {
    const tried = [...this.ready, ...this.resting.keys()].filter(({ tries }) => tries > 0);
    const known = new Map(tried.map((line) => [line.seq, triesOf(line)]));
    this.lost = true;
    this.ready.length = 0;
    for (const timer of this.resting.values()) clearTimeout(timer);
    this.resting.clear();
    return known;
  }

  /** Number of lines that could run now if there were slots for them. */
  get runnable(): number {
    return this.isSerial ? Number(this.hasNext) : this.ready.length;
  }

  /** Number of lines that wait for a slot or for their next try; if lines run one at a time, only the next one. */
  get waiting(): number {
    const lines = this.ready.length + this.resting.size;
    return this.isSerial ? Math.min(1, lines) : lines;
  }

  /** Number of lines that are being called, or whose result is not stored yet. */
  get underWay(): number {
    return this.handedOut - this.resting.size;
  }

  get isStopped(): boolean {
    return this.stopped;
  }

  /** True if no line is being called or waits to be committed. */
  get isIdle(): boolean {
    return this.underWay === 0;
  }

  stored(): void {
    this.handedOut -= 1;
    this.unstored -= 1;
    this.fund.isProven = true;
  }

  private putBack(line: HeldLine): void {
    if (this.isSerial) this.ready.unshift(line);
    else this.ready.push(line);
  }

  private take(): HeldLine | null {
    const line = this.ready.shift();
    if (line === undefined) return null;
    this.handedOut += 1;
    return line;
  }
}

/** Copies only the tries, so that the line and its body can be freed. */
function triesOf({
  tries,
  firstTryMs,
  comparedFromMs,
  doubtful,
  counted,
  lastError,
  restsUntilMs,
}: HeldLine): LineTries {
  return { tries, firstTryMs, comparedFromMs, doubtful, counted, lastError, restsUntilMs };
}
