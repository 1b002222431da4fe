import { monotonicMs } from '@libs/inference';
import { ALONE_FROM, type BatchSegmentsRepository, type ClaimedSegment } from '@libs/persistence';
import type { HeldLine, HeldSegment } from './held-segment';
import { LEASE_MS } from './lease-keeper';

const LOOK_MS = 5_000;
/** Delay until the next search for a suspect, if one could not be called. */
const LOOK_AGAIN_MS = 60_000;
const ABSOLVE_AGAIN_MS = 500;
/**
 * Longest pause in which no line begins, to let running ones end. After that, lines continue and the turn comes later.
 */
const MOST_WAIT_FOR_QUIET_MS = 30_000;

/** The functions of the lane that a turn uses. */
export interface SuspectLane {
  /** Takes a segment over, with its lines. */
  hold(claim: ClaimedSegment): Promise<HeldSegment>;
  /** Whether its lines may be called now. */
  mayCall(segment: HeldSegment): boolean;
  /** Calls a line; resolves with whether it came to an outcome, once that is stored. */
  runAlone(line: HeldLine): Promise<boolean>;
  giveBack(segments: readonly HeldSegment[]): void;
  /** Calls `look` again after so long. */
  lookLater(delayMs: number): void;
}

/**
 * Runs segments whose workers died repeatedly, one at a time, and their first line with nothing else running in the
 * process. If the worker dies again, that line caused it, and no other line is given up.
 */
export class SuspectTurn {
  private wantedSinceMs = 0;
  private nextLookAtMs = 0;
  private heldOffUntilMs = 0;
  private looking = false;
  private state: 'none' | 'wanted' | 'running' = 'none';

  constructor(
    private readonly segments: BatchSegmentsRepository,
    private readonly lane: SuspectLane,
  ) {}

  /** While true, no other line may begin. */
  get wantsQuiet(): boolean {
    return this.state !== 'none';
  }

  /** True if a turn begins as soon as nothing is in flight. */
  get isWanted(): boolean {
    return this.state === 'wanted';
  }

  get isRunning(): boolean {
    return this.state === 'running';
  }

  /** Whether there is a suspect: then the lane comes to rest. */
  async look(): Promise<void> {
    if (this.isWanted && monotonicMs() - this.wantedSinceMs >= MOST_WAIT_FOR_QUIET_MS) this.holdOff();
    if (this.looking || this.wantsQuiet || monotonicMs() < this.nextLookAtMs) return;
    this.nextLookAtMs = monotonicMs() + LOOK_MS;
    this.looking = true;
    try {
      if (!(await this.segments.hasSuspects())) return;
      this.state = 'wanted';
      this.wantedSinceMs = monotonicMs();
    } finally {
      this.looking = false;
    }
  }

  /** Must be called when a turn is wanted and nothing is in flight. Resolves when other lines may run again. */
  async take(): Promise<void> {
    this.state = 'running';
    const beganMs = monotonicMs();
    try {
      const claim = await this.segments.claimSuspect(LEASE_MS);
      if (claim === null) return;
      const segment = await this.lane.hold(claim);
      // At a later attempt the first line was already given up when the segment was claimed.
      if (claim.attempts === ALONE_FROM) await this.runFirst(segment);
      // There may be more such segments. Before the next one, other lines get as much time as this one had.
      this.lookIn(monotonicMs() - beganMs);
    } finally {
      this.state = 'none';
    }
  }

  /** Limits the pause: a call that does not end would stop the whole lane. */
  private holdOff(): void {
    this.state = 'none';
    this.heldOffUntilMs = monotonicMs() + LOOK_AGAIN_MS;
    this.lookIn(LOOK_AGAIN_MS);
  }

  private lookIn(delayMs: number): void {
    this.nextLookAtMs = Math.max(this.heldOffUntilMs, monotonicMs() + delayMs);
    this.lane.lookLater(this.nextLookAtMs - monotonicMs());
  }

  private async runFirst(segment: HeldSegment): Promise<void> {
    if (!this.lane.mayCall(segment) || !segment.hasNext) {
      this.heldOffUntilMs = monotonicMs() + LOOK_AGAIN_MS;
      return this.lane.giveBack([segment]);
    }
    const line = (await this.begin(segment)) ? segment.next() : null;
    if (line === null) return this.lane.giveBack([segment]);
    const isStored = await this.lane.runAlone(line);
    // A stored result says the same.
    if (!isStored) await this.absolve(segment);
  }

  private async begin(segment: HeldSegment): Promise<boolean> {
    try {
      return await this.segments.beginAlone(segment.claim);
    } catch (error) {
      // The statement may have been executed. A later crash caused by another line would then be blamed on the first
      // line.
      this.lane.giveBack([segment]);
      throw error;
    }
  }

  /**
   * Clears the suspicion; retried until it is stored. Otherwise the next lease would give the line up, although
   * PostgreSQL was to blame.
   */
  private async absolve(segment: HeldSegment): Promise<void> {
    for (;;) {
      try {
        return await this.segments.absolve(segment.claim);
      } catch (error) {
        if (segment.lost) throw error;
        await new Promise((resolve) => setTimeout(resolve, ABSOLVE_AGAIN_MS).unref());
      }
    }
  }
}
