import { Injectable, Logger } from '@nestjs/common';
import { CatalogueSource, quotaGroupsOf, monotonicMs, ReplyBudget } from '@libs/inference';
import {
  BatchFundsRepository,
  BatchResultsRepository,
  BatchSegmentsRepository,
  type BatchLine,
  type ClaimedSegment,
  type LaneSpeed,
  type LineOutcome,
} from '@libs/persistence';
import { BatchWorkerEnv } from '../batch-worker.env';
import { BatchFunds } from './batch-funds';
import { BatchKeys } from './batch-keys';
import { FinalizerService } from './finalizer.service';
import { HeldSegment, type HeldLine } from './held-segment';
import { HeldSegments } from './held-segments';
import { CLAIM_LINES, CLAIM_SEGMENTS, LEAST_CLAIMED, UNCOMMITTED_PER_SLOT } from './lane-bounds';
import { LaneMeter } from './lane-meter';
import { LaneQuotas } from './lane-quotas';
import { LaneSlots } from './lane-slots';
import { LEASE_MS, LeaseKeeper } from './lease-keeper';
import { nextLine, readyByQuota, WorkspaceShares } from './line-order';
import { LineRetries } from './line-retries';
import {
  ALONE_LIMITS,
  isAnswer,
  isKept,
  LineRunnerService,
  SAYS_NOTHING,
  type CallLimits,
} from './line-runner.service';
import { resultGroupsOf, ResultWriter } from './result-writer';
import { SegmentHandover } from './segment-handover';
import { SegmentReturns } from './segment-returns';
import { SegmentStops } from './segment-stops';
import { SuspectTurn } from './suspect-turn';

/** Part of the shutdown time that is reserved for storing results. */
const STORE_MS = 5_000;

/**
 * Runs batch lines as single calls: `BATCH_CONCURRENCY` at a time, from all batches.
 *
 * Segments are leased a few ahead, so a slow or large line does not delay others: the next free slot takes the next
 * ready line of any segment. Outcomes are written by group commit with the fence of their lease; if the lease was lost
 * meanwhile, the database discards them. A line that must wait (Retry-After, backoff) occupies no slot. `LaneQuotas`
 * decides how many lines of a quota run at once, `BatchFunds` what a batch can pay for, `line-patience` when a line
 * ends, and `line-order` which line is next. Segments, bytes and unstored results are limited; runnable lines go first.
 */
@Injectable()
export class ManagedLaneService {
  private readonly logger = new Logger(ManagedLaneService.name);
  private readonly held: HeldSegments;
  private readonly quotas: LaneQuotas;
  private readonly retries: LineRetries;
  private readonly shares = new WorkspaceShares();
  private readonly meter = new LaneMeter();
  private readonly writer: ResultWriter;
  private readonly leases: LeaseKeeper;
  private readonly suspects: SuspectTurn;
  private readonly returns: SegmentReturns;
  private readonly handover: SegmentHandover;
  private readonly stops: SegmentStops;
  private readonly funds: BatchFunds;
  private readonly slots: LaneSlots;
  private readonly concurrency: number;
  private claiming = false;
  private claimWanted = false;
  private probeDue = false;
  private stopping = false;
  private readonly warn = (what: string, error: unknown): void =>
    this.logger.warn(`${what}: ${error instanceof Error ? error.message : 'unknown error'}`);
  private readonly mayRun = (one: HeldSegment): boolean => one.hasNext && this.mayCall(one);
  private readonly mayBegin = (one: HeldSegment): boolean =>
    this.slots.admits(one) && this.quotas.probes.isNext(one) && this.mayCall(one);

  constructor(
    private readonly env: BatchWorkerEnv,
    private readonly segments: BatchSegmentsRepository,
    results: BatchResultsRepository,
    private readonly runner: LineRunnerService,
    private readonly finalizer: FinalizerService,
    private readonly catalogue: CatalogueSource,
    funds: BatchFundsRepository,
    keys: BatchKeys,
    replies: ReplyBudget,
  ) {
    this.concurrency = env.BATCH_CONCURRENCY;
    this.held = new HeldSegments(this.concurrency, (quota) => this.quotas.isSilent(quota));
    this.quotas = new LaneQuotas({
      slots: this.concurrency,
      groups: () => quotaGroupsOf(this.catalogue.current()),
      onProbeDue: () => {
        this.probeDue = true;
        this.wake();
      },
    });
    this.slots = new LaneSlots(this.concurrency, this.quotas);
    this.retries = new LineRetries(this.quotas, {
      onReady: () => this.pump(),
      onEnd: (line, error) => this.writer.add(this.runner.ended(line, error)),
    });
    this.funds = new BatchFunds(funds, keys, {
      slots: this.concurrency,
      graceMs: env.BATCH_CREDIT_GRACE_SECONDS * 1_000,
      onReady: () => this.wake(),
      onEnd: (line, error) => this.writer.add(this.runner.ended(line, error)),
      onWarning: this.warn,
    });
    this.writer = new ResultWriter(results, {
      ...resultGroupsOf(this.concurrency),
      onWeight: (bytes) => replies.keep(bytes),
      onStored: (outcomes, done) => this.onStored(outcomes, done),
      onFailure: (error) => this.warn('results could not be stored yet', error),
      onAheadOfHold: (numbers) => this.funds.meter(numbers),
    });
    this.leases = new LeaseKeeper(segments, this.held, {
      onRound: () => this.retries.endLate(this.held),
      onFailure: this.warn,
    });
    this.returns = new SegmentReturns(segments, (error) => this.warn('segments are given back later', error));
    this.handover = new SegmentHandover(this.held, this.quotas, this.retries, this.returns, () => this.wake());
    this.stops = new SegmentStops(segments, this.held, this.warn);
    this.suspects = new SuspectTurn(segments, {
      hold: (claim) =>
        this.returns.unless([claim], async () => this.hold(claim, (await this.segments.unfinishedLines([claim]))[0]!)),
      mayCall: (segment) => !this.stopping && this.mayCall(segment),
      runAlone: (line) => this.runAlone(line),
      giveBack: (given) => this.handover.giveBack(given),
      lookLater: (delayMs) => void setTimeout(() => this.wake(), delayMs).unref(),
    });
  }

  start(): void {
    this.leases.start();
    this.wake();
  }

  /** Looks for work now, or as soon as the running look is over. */
  wake(): void {
    if (this.stopping) return;
    this.claimWanted = true;
    this.suspects.look().then(
      () => this.pump(),
      (error: unknown) => this.warn('suspects could not be looked for', error),
    );
    this.pump();
  }

  /** Finishes running lines, commits them and gives the rest back. */
  async drain(): Promise<void> {
    this.stopping = true;
    const deadlineMs = monotonicMs() + this.env.DRAIN_SECONDS * 1_000 - STORE_MS;
    const isBusy = (): boolean => this.slots.inFlight > 0 || this.claiming || this.suspects.isRunning;
    while (isBusy() && monotonicMs() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 20));
    for (const segment of this.held) segment.calls.abort();
    await this.writer.flush();
    this.leases.stop();
    const unfinished = [...this.held].filter((segment) => !segment.done && !segment.lost);
    if (unfinished.length > 0) await this.segments.release(unfinished.map((segment) => segment.claim));
    this.held.giveBackAll();
    await this.funds.releaseAll();
  }

  /** Starts no more lines of a batch and cancels long calls. Returns true when this worker holds nothing of it. */
  stopBatch(number: bigint, isCharged: boolean): boolean {
    return this.stops.stopBatch(number, isCharged);
  }

  /** Returns how fast lines run, by quota. Must have one caller only, at intervals. */
  speeds(): Record<string, LaneSpeed> {
    return this.meter.read({ waiting: readyByQuota(this.held), slotsOf: (quota) => this.quotas.limitOf(quota) });
  }

  /** Starts lines while there are free slots, and fetches more when few are left. */
  private pump(): void {
    if (this.stopping) return;
    if (this.suspects.wantsQuiet) return this.comeToRest();
    this.quotas.probes.choose(this.held, this.mayRun);
    while (this.slots.hasFree && this.writer.pending < this.concurrency * UNCOMMITTED_PER_SLOT) {
      const line = nextLine(this.held, this.shares, this.mayBegin);
      if (line === null) break;
      void this.run(line);
    }
    this.handover.giveBackUnreachable();
    if (this.slots.inFlight === 0) this.writer.hurry();
    if (this.claimWanted && !this.claiming) this.claimWhenFew();
  }

  private mayCall(segment: HeldSegment): boolean {
    return this.quotas.mayCall(segment) && segment.fund.mayBegin();
  }

  private comeToRest(): void {
    if (this.slots.inFlight > 0 || !this.suspects.isWanted) return;
    this.suspects
      .take()
      .catch((error: unknown) => this.warn('a suspect waits for the end of its lease', error))
      .finally(() => this.pump());
  }

  private claimWhenFew(): void {
    // Lines for a due probe are fetched even if many others wait.
    if (!this.probeDue && !(this.slots.isLookDue() && this.quotas.isShort(this.held))) return;
    // If no slot is free, the held lines are running.
    if (this.held.isFull && this.slots.hasFree) this.handover.makeRoom();
    if (!this.held.isFull) void this.claim();
  }

  private async claim(): Promise<void> {
    this.claiming = true;
    this.claimWanted = this.probeDue = false;
    let unheld: readonly ClaimedSegment[] = [];
    try {
      await this.returns.give();
      const keptOut = { ...this.quotas.keptOut(this.held), batchNumbers: this.funds.paused() };
      unheld = await this.segments.claim(CLAIM_SEGMENTS, LEASE_MS, { keptOut, mostLines: CLAIM_LINES });
      // If a claim returned fewer, there are no more.
      if (unheld.length >= LEAST_CLAIMED) this.claimWanted = true;
      while (unheld.length > 0 && !this.held.isHeavy) {
        const some = unheld.slice(0, LEAST_CLAIMED);
        const lines = await this.segments.unfinishedLines(some);
        unheld = unheld.slice(LEAST_CLAIMED);
        for (const [index, claim] of some.entries()) this.hold(claim, lines[index]!);
        this.pump();
      }
      if (this.quotas.probes.forgetPostponed(this.held)) this.claimWanted = this.probeDue = true;
    } catch (error) {
      this.warn('segments could not be claimed', error);
    } finally {
      await this.returns.give(unheld);
      this.claiming = false;
      this.pump();
    }
  }

  private hold(claim: ClaimedSegment, lines: readonly BatchLine[]): HeldSegment {
    const quota = quotaGroupsOf(this.catalogue.current()).quotaOf(claim);
    const segment = new HeldSegment(claim, lines, quota, this.funds.of(claim));
    this.held.add(segment);
    const suspect = segment.takeSuspect();
    if (suspect !== null) this.writer.add(this.runner.givenUp(suspect));
    this.retries.takenOver(segment);
    this.funds.endIfExhausted(segment.fund);
    return segment;
  }

  private async run(line: HeldLine, limits?: CallLimits): Promise<void> {
    this.slots.begin();
    const { segment } = line;
    segment.fund.begun();
    this.shares.begin(segment.claim.workspaceId);
    const ticket = this.quotas.begin(segment);
    const beganMs = performance.now();
    line.tries += 1;
    line.firstTryMs ??= beganMs;
    if (line.tries === 1) line.comparedFromMs = beganMs;
    const result = await this.runner.run(line, segment.calls, limits);
    const endMs = performance.now();
    this.meter.called(segment.quota, endMs - beganMs, result.kind === 'outcome');
    this.slots.end();
    this.shares.end(segment.claim.workspaceId);
    // A cancelled call is neither an answer nor a failure of the provider, although it may have cost something.
    const isCalledOff = segment.calls.aborted && !isKept(result);
    this.quotas.end(ticket, isCalledOff ? SAYS_NOTHING : result.news);
    if (isCalledOff || (result.kind === 'failure' && segment.isStopped)) {
      segment.drop();
      this.stops.closeIfIdle(segment);
    } else if (result.kind === 'outcome') {
      if (isAnswer(result)) this.retries.answered(line, endMs);
      this.writer.add(result.outcome);
    } else {
      segment.fund.failed();
      this.retries.failed(line, result.failure, endMs);
    }
    this.pump();
  }

  private async runAlone(line: HeldLine): Promise<boolean> {
    await this.run(line, ALONE_LIMITS);
    await this.writer.flush();
    return !line.segment.isResting(line);
  }

  private onStored(outcomes: readonly LineOutcome[], batchesWithDoneSegments: readonly bigint[]): void {
    this.held.stored(outcomes);
    for (const segment of this.held) this.stops.closeIfIdle(segment);
    const stillHeld = this.held.batchNumbers();
    for (const number of batchesWithDoneSegments) {
      // The batch cannot be done while this worker holds more segments of it.
      if (stillHeld.has(number)) continue;
      this.finalizer
        .finishIfDone(number)
        .catch((error: unknown) => this.warn('a batch waits for the sweeper to finish it', error));
    }
    this.claimWanted = true;
    this.pump();
  }
}
