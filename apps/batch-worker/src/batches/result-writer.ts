import { Logger } from '@nestjs/common';
import { failpoint } from '@libs/failpoints';
import { StuckRows, type LineOutcome, type RefusedRow } from '@libs/persistence';
import { batchOf, payerOf, storeOutcomes, type OutcomeStore } from './store-outcomes';

export interface ResultGroups {
  /** Outcomes wait this long for company, so that a busy worker commits many at once. */
  readonly lingerMs: number;
  /** This many wait for nobody: the next commit begins as soon as the last one is over. */
  readonly fullGroupLines: number;
  readonly maxGroupLines: number;
  readonly maxGroupBytes: number;
}

export interface ResultWriterOptions extends ResultGroups {
  /** Called after each commit with the batches that have a finished segment now. */
  readonly onStored: (outcomes: readonly LineOutcome[], batchesWithDoneSegments: readonly bigint[]) => void;
  /** Called when a commit failed; the outcomes are kept and tried again. */
  readonly onFailure: (error: unknown) => void;
  /** Called after each commit, before `onStored`, with the batches that cost more than is held for them. */
  readonly onAheadOfHold?: (batchNumbers: readonly bigint[]) => void;
}

/** A line of a group of 512 costs half of what one of a group of 64 does, in PostgreSQL and here. */
export const RESULT_GROUPS: ResultGroups = {
  lingerMs: 40,
  // Enough to share a commit, few enough that lines go on running while they are committed.
  fullGroupLines: 384,
  maxGroupLines: 512,
  maxGroupBytes: 8 * 1024 * 1024,
};

/** Of an answer, beyond which it counts as one more outcome: 512 outcomes are at most 64 MiB. */
const BYTES_PER_OUTCOME = 128 * 1024;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;

/**
 * Group commit for line outcomes. Nothing is given up: while PostgreSQL is away the outcomes stay here,
 * and the lane stops starting lines once `pending` has grown too large. An outcome that PostgreSQL refuses for its data
 * holds up no other; nor does one that it takes too long to store: that waits apart.
 */
export class ResultWriter {
  private readonly logger = new Logger(ResultWriter.name);
  private readonly stuck: StuckRows<LineOutcome>;
  private waiting: LineOutcome[] = [];
  private waitingBytes = 0;
  private inCommit = 0;
  private bytesInCommit = 0;
  private isHurried = false;
  private timer: NodeJS.Timeout | null = null;
  private committing: Promise<void> | null = null;

  constructor(
    private readonly results: OutcomeStore,
    private readonly options: ResultWriterOptions,
  ) {
    this.stuck = new StuckRows({
      keyOf: batchOf,
      payerOf,
      store: (outcome) => this.storeAlone(outcome),
      onFree: (outcomes) => outcomes.forEach((outcome) => this.add(outcome)),
    });
  }

  /** Outcomes that are not committed yet. Large ones count for several, so that what bounds this bounds their bytes. */
  get pending(): number {
    const apart = this.stuck.rows();
    const bytes = this.waitingBytes + this.bytesInCommit + bytesOf(apart);
    return this.waiting.length + this.inCommit + apart.length + Math.floor(bytes / BYTES_PER_OUTCOME);
  }

  add(outcome: LineOutcome): void {
    if (this.stuck.keepIfLocked(outcome)) return;
    this.waiting.push(outcome);
    this.waitingBytes += outcome.body?.length ?? 0;
    if (this.isGroupFull()) this.commitSoon();
    else this.timer ??= setTimeout(() => this.commitSoon(), this.options.lingerMs);
  }

  /** Says that nothing more will come until this is committed: it waits for no company. */
  hurry(): void {
    if (this.waiting.length === 0) return;
    this.isHurried = true;
    this.commitSoon();
  }

  /** Resolves when everything added so far is committed. */
  async flush(): Promise<void> {
    while (this.pending > 0) {
      this.commitSoon();
      await this.committing;
      await this.stuck.settled();
    }
  }

  private isGroupFull(): boolean {
    return this.waiting.length >= this.options.fullGroupLines || this.waitingBytes >= this.options.maxGroupBytes;
  }

  private commitSoon(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.committing ??= this.commitAll().finally(() => {
      this.committing = null;
      if (this.waiting.length > 0) this.timer ??= setTimeout(() => this.commitSoon(), this.options.lingerMs);
    });
  }

  private async commitAll(): Promise<void> {
    do {
      const group = this.takeGroup();
      if (group.length === 0) return;
      this.inCommit = group.length;
      this.bytesInCommit = bytesOf(group);
      const { outcomes, batchesWithDoneSegments, stuck } = await this.storeUntilDone(group);
      failpoint('results-committed');
      this.inCommit = 0;
      this.bytesInCommit = 0;
      this.options.onStored(outcomes, batchesWithDoneSegments);
      this.setApart(stuck);
    } while (this.isHurried || this.isGroupFull());
  }

  private takeGroup(): LineOutcome[] {
    let bytes = 0;
    let count = 0;
    this.isHurried = false;
    while (count < this.waiting.length && count < this.options.maxGroupLines && bytes < this.options.maxGroupBytes) {
      bytes += this.waiting[count]!.body?.length ?? 0;
      count += 1;
    }
    this.waitingBytes -= bytes;
    return this.waiting.splice(0, count);
  }

  private async storeUntilDone(group: readonly LineOutcome[]): Promise<CommittedGroup> {
    const batchesWithDoneSegments = new Set<bigint>();
    const stuck: RefusedRow<LineOutcome>[] = [];
    let outcomes = group;
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)) {
      const report = await storeOutcomes(this.results, outcomes, this.logger);
      for (const number of report.batchesWithDoneSegments) batchesWithDoneSegments.add(number);
      if (report.batchesAheadOfHold.size > 0) this.options.onAheadOfHold?.([...report.batchesAheadOfHold]);
      stuck.push(...report.stuck);
      if (report.left === null) {
        const apart = new Set(stuck.map(({ row }) => row));
        const committed = apart.size === 0 ? group : group.filter((outcome) => !apart.has(outcome));
        return { outcomes: committed, batchesWithDoneSegments: [...batchesWithDoneSegments], stuck };
      }
      this.options.onFailure(report.left.error);
      ({ outcomes } = report.left);
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  private setApart(stuck: readonly RefusedRow<LineOutcome>[]): void {
    if (stuck.length === 0) return;
    this.options.onFailure(stuck[0]!.error);
    this.stuck.add(stuck);
    const { waiting } = this;
    this.waiting = [];
    this.waitingBytes = 0;
    for (const outcome of waiting) this.add(outcome);
  }

  private async storeAlone(outcome: LineOutcome): Promise<unknown> {
    const { left, stuck, batchesWithDoneSegments, batchesAheadOfHold } = await storeOutcomes(
      this.results,
      [outcome],
      this.logger,
    );
    const error = left?.error ?? stuck[0]?.error ?? null;
    if (error !== null) return error;
    if (batchesAheadOfHold.size > 0) this.options.onAheadOfHold?.([...batchesAheadOfHold]);
    this.options.onStored([outcome], [...batchesWithDoneSegments]);
    return null;
  }
}

function bytesOf(outcomes: readonly LineOutcome[]): number {
  return outcomes.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
}

interface CommittedGroup {
  readonly outcomes: readonly LineOutcome[];
  readonly batchesWithDoneSegments: readonly bigint[];
  readonly stuck: readonly RefusedRow<LineOutcome>[];
}
