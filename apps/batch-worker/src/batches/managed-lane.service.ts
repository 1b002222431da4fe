import { Injectable, Logger } from '@nestjs/common';
import {
  BatchResultsRepository,
  BatchSegmentsRepository,
  type ClaimedSegment,
  type LaneSpeed,
  type LineOutcome,
} from '@libs/persistence';
import { BatchWorkerEnv } from '../batch-worker.env';
import { FinalizerService } from './finalizer.service';
import { HeldSegment, type HeldLine } from './held-segment';
import { LaneMeter } from './lane-meter';
import { LaneQuotas } from './lane-quotas';
import { nextLine, readyBy, WorkspaceShares } from './line-order';
import { callEndOf, LineRunnerService } from './line-runner.service';
import { RESULT_GROUPS, ResultWriter } from './result-writer';

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** A claim ends with the segment that brings it to so many lines; of batches of one line it takes many segments. */
const CLAIM_LINES = 512;
const CLAIM_SEGMENTS = 64;
/** Full segments of 128 lines in a claim. */
const LEAST_CLAIMED = 4;
/** What is held, in bytes of lines and in segments per slot; a claim is made only below it. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
const MAX_SEGMENTS_PER_SLOT = 32;
/** Outcomes per slot that wait for no more company. */
const FULL_GROUP_PER_SLOT = 4;
/**
 * Outcomes per slot that are not committed yet, above which no line is begun: a group in commit and one that gathers.
 * A worker that dies repeats so many calls at most, beside those in flight.
 */
const UNCOMMITTED_PER_SLOT = 2 * FULL_GROUP_PER_SLOT;
const DRAIN_MS = 20_000;
/** How long lines of a stopped batch may still be called: less than its time to wind up. */
const CALL_OFF_MS = 4_000;

/**
 * Runs batch lines as single calls: `BATCH_CONCURRENCY` at a time, whichever batch they belong to.
 *
 * Segments are leased a few ahead, so a slow or large line holds up nobody: the next free slot takes the
 * next ready line of any segment. Outcomes go to the group commit, carrying the fence of their lease; a
 * lease that was lost meanwhile makes them void in the database, not here. A line that must wait (Retry-After,
 * backoff) holds no slot. A key of which a provider has had too much gets fewer lines at once (LaneQuotas), and which
 * line comes next is a matter of fairness and deadlines (line-order). Every bound is on what is held: segments, bytes,
 * and outcomes not yet committed; what cannot run now gives way there to what can.
 */
@Injectable()
export class ManagedLaneService {
  private readonly logger = new Logger(ManagedLaneService.name);
  private readonly held = new Set<HeldSegment>();
  private readonly quotas: LaneQuotas;
  private readonly shares = new WorkspaceShares();
  private readonly meter = new LaneMeter();
  private readonly writer: ResultWriter;
  private readonly concurrency: number;
  private inFlight = 0;
  private heldBytes = 0;
  private claiming = false;
  private claimWanted = false;
  private stopping = false;
  private renewTimer: NodeJS.Timeout | null = null;

  constructor(
    env: BatchWorkerEnv,
    private readonly segments: BatchSegmentsRepository,
    results: BatchResultsRepository,
    private readonly runner: LineRunnerService,
    private readonly finalizer: FinalizerService,
  ) {
    this.concurrency = env.BATCH_CONCURRENCY;
    this.quotas = new LaneQuotas(this.concurrency);
    this.writer = new ResultWriter(results, {
      ...RESULT_GROUPS,
      fullGroupLines: Math.min(RESULT_GROUPS.fullGroupLines, this.concurrency * FULL_GROUP_PER_SLOT),
      onStored: (outcomes, done) => this.onStored(outcomes, done),
      onFailure: (error) => this.logger.warn(`results could not be stored yet: ${messageOf(error)}`),
    });
  }

  start(): void {
    this.renewTimer = setInterval(() => void this.renewLeases(), RENEW_MS);
    this.wake();
  }

  /** There may be work: looks for it now, or as soon as the look under way is over. */
  wake(): void {
    this.claimWanted = true;
    this.pump();
  }

  /** Ends what is under way, commits it and gives the rest back. */
  async drain(): Promise<void> {
    this.stopping = true;
    await this.waitUntilIdle(DRAIN_MS);
    for (const segment of this.held) segment.calls.abort();
    await this.writer.flush();
    if (this.renewTimer !== null) clearInterval(this.renewTimer);
    const unfinished = [...this.held].filter((segment) => !segment.done && !segment.lost);
    if (unfinished.length > 0) await this.segments.release(unfinished.map((segment) => segment.claim));
    for (const segment of this.held) segment.giveBack();
    this.held.clear();
  }

  /** Begins no more lines of a batch and calls those off that take long; true once none of it is held here. */
  stopBatch(number: bigint): boolean {
    const segments = [...this.held].filter(({ claim }) => claim.batchNumber === number);
    const begun = segments.filter((segment) => !segment.isStopped);
    for (const segment of begun) {
      segment.stop();
      setTimeout(() => segment.calls.abort(), CALL_OFF_MS).unref();
    }
    for (const segment of segments) this.closeIfIdle(segment);
    return segments.every((segment) => !this.held.has(segment));
  }

  /** How fast lines are run, by provider; to be asked now and then by one. */
  speeds(): Record<string, LaneSpeed> {
    return this.meter.read({
      waiting: readyBy('provider', this.held),
      // The quota of the operator's own key has the name of the provider.
      slotsOf: (provider) => this.quotas.limitOf(provider),
    });
  }

  /** Starts lines while there are free slots, and fetches more when few are left. */
  private pump(): void {
    if (this.stopping) return;
    while (this.inFlight < this.concurrency && this.writer.pending < this.concurrency * UNCOMMITTED_PER_SLOT) {
      const line = nextLine(this.held, this.shares, (quota) => this.quotas.mayCall(quota));
      if (line === null) break;
      void this.run(line);
    }
    if (this.inFlight === 0) this.writer.hurry();
    if (this.claimWanted && !this.claiming) this.claimWhenFew();
  }

  private claimWhenFew(): void {
    if (!this.quotas.isShort(this.held)) return;
    // With no slot free, what is held is being run.
    if (this.isFull() && this.inFlight < this.concurrency) this.giveBackBlocked();
    if (!this.isFull()) void this.claim();
  }

  private isFull(): boolean {
    return this.heldBytes >= MAX_HELD_BYTES || this.held.size >= this.concurrency * MAX_SEGMENTS_PER_SLOT;
  }

  /** Down to half of what may be held, so that this is seldom done. The tries of their lines begin anew. */
  private giveBackBlocked(): void {
    const claims: ClaimedSegment[] = [];
    for (const segment of this.quotas.blocked(this.held)) {
      segment.giveBack();
      this.letGo(segment);
      claims.push(segment.claim);
      const isHalf = this.held.size <= (this.concurrency * MAX_SEGMENTS_PER_SLOT) / 2;
      if (isHalf && this.heldBytes <= MAX_HELD_BYTES / 2) break;
    }
    if (claims.length === 0) return;
    for (const quota of new Set(claims.map((claim) => claim.quota))) {
      this.quotas.whenPauseOver(quota, () => this.wake());
    }
    this.segments
      .release(claims)
      .catch((error: unknown) => this.logger.warn(`segments wait for the end of their lease: ${messageOf(error)}`));
  }

  private async claim(): Promise<void> {
    this.claiming = true;
    this.claimWanted = false;
    try {
      const claims = await this.segments.claim(CLAIM_SEGMENTS, LEASE_MS, {
        exceptQuotas: this.quotas.keptOut(this.held),
        mostLines: CLAIM_LINES,
      });
      // With fewer there is no more.
      if (claims.length >= LEAST_CLAIMED) this.claimWanted = true;
      for (let at = 0; at < claims.length; at += LEAST_CLAIMED) {
        if (this.heldBytes >= MAX_HELD_BYTES) return await this.segments.release(claims.slice(at));
        const some = claims.slice(at, at + LEAST_CLAIMED);
        const lines = await this.segments.unfinishedLines(some);
        for (const [index, claim] of some.entries()) this.hold(new HeldSegment(claim, lines[index]!));
        this.pump();
      }
    } catch (error) {
      this.logger.warn(`segments could not be claimed: ${messageOf(error)}`);
    } finally {
      this.claiming = false;
      this.pump();
    }
  }

  private hold(segment: HeldSegment): void {
    this.held.add(segment);
    this.heldBytes += segment.bytes;
    const suspect = segment.takeSuspect();
    if (suspect !== null) this.writer.add(this.runner.givenUp(suspect));
  }

  private async run(line: HeldLine): Promise<void> {
    this.inFlight += 1;
    line.tries += 1;
    line.firstTryMs ??= performance.now();
    const { segment } = line;
    const { workspaceId, provider, quota } = segment.claim;
    this.shares.begin(workspaceId);
    const ticket = this.quotas.begin(quota);
    const beganMs = performance.now();
    const result = await this.runner.run(line, segment.calls);
    this.meter.called(provider, performance.now() - beganMs, result.kind === 'outcome');
    this.inFlight -= 1;
    this.shares.end(workspaceId);
    this.quotas.end(ticket, callEndOf(result));
    // What was called off has come to nothing: it is neither an answer nor the provider's failure.
    if (result.kind === 'outcome' && (result.outcome.error === null || !segment.calls.aborted)) {
      this.writer.add(result.outcome);
    } else if (result.kind === 'retry' && !segment.isStopped && !segment.calls.aborted) {
      this.retryLater(line, result);
    } else {
      segment.drop();
      this.closeIfIdle(segment);
    }
    this.pump();
  }

  private closeIfIdle(segment: HeldSegment): void {
    if (!segment.isStopped || !segment.isIdle || !this.held.has(segment)) return;
    this.letGo(segment);
    this.segments
      .close([segment.claim])
      .catch((error: unknown) => this.logger.warn(`a stopped segment stays until its lease ends: ${messageOf(error)}`));
  }

  private retryLater(line: HeldLine, { delayMs, pausesQuota }: { delayMs: number; pausesQuota: boolean }): void {
    const { quota } = line.segment.claim;
    if (pausesQuota) this.quotas.pause(quota, delayMs);
    line.segment.rest(line, delayMs, () => this.quotas.whenPauseOver(quota, () => this.pump()));
  }

  private onStored(outcomes: readonly LineOutcome[], batchesWithDoneSegments: readonly bigint[]): void {
    const byLease = new Map([...this.held].map((segment) => [segment.claim as LineOutcome['lease'], segment]));
    for (const outcome of outcomes) byLease.get(outcome.lease)?.stored();
    for (const segment of this.held) {
      if (segment.done) this.letGo(segment);
      else this.closeIfIdle(segment);
    }
    const stillHeld = new Set([...this.held].map(({ claim }) => claim.batchNumber));
    for (const number of batchesWithDoneSegments) {
      // With more of it in our hands it cannot be done yet.
      if (stillHeld.has(number)) continue;
      this.finalizer
        .finishIfDone(number)
        .catch((error: unknown) => this.logger.warn(`a batch waits for the sweeper to finish it: ${messageOf(error)}`));
    }
    this.claimWanted = true;
    this.pump();
  }

  private letGo(segment: HeldSegment): void {
    if (this.held.delete(segment)) this.heldBytes -= segment.bytes;
  }

  private async renewLeases(): Promise<void> {
    const segments = [...this.held];
    if (segments.length === 0) return;
    try {
      const renewed = await this.segments.renew(
        segments.map((segment) => segment.claim),
        LEASE_MS,
      );
      const kept = new Set(renewed.map((lease) => `${lease.batchNumber}:${lease.number}`));
      for (const segment of segments) {
        if (kept.has(`${segment.claim.batchNumber}:${segment.claim.number}`) || segment.done) continue;
        segment.lost = true;
        segment.calls.abort();
        this.letGo(segment);
      }
    } catch (error) {
      this.logger.warn(`leases could not be renewed: ${messageOf(error)}`);
    }
  }

  private async waitUntilIdle(timeoutMs: number): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (this.inFlight > 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}
