import { Logger } from '@nestjs/common';
import { failpoint } from '@libs/failpoints';
import { GroupCommit, type GroupCommitOptions, type LineOutcome } from '@libs/persistence';
import { FULL_GROUP_PER_SLOT } from './lane-bounds';
import { batchOf, payerOf, storeOutcomes, type OutcomeStore, type StoredOutcomes } from './store-outcomes';

export type ResultGroups = Pick<
  GroupCommitOptions<LineOutcome, StoredOutcomes>,
  'gatherMs' | 'mostRows' | 'fullRows' | 'mostWeight'
>;

export interface ResultWriterOptions extends ResultGroups {
  /** Called after each commit with the batches that have a finished segment now. */
  readonly onStored: (outcomes: readonly LineOutcome[], batchesWithDoneSegments: readonly bigint[]) => void;
  /** Called whenever it has changed what the outcomes that are not stored weigh together. */
  readonly onWeight?: (bytes: number) => void;
  /** Called when a commit failed; the outcomes are kept and tried again. */
  readonly onFailure: (error: unknown) => void;
  /** Called after each commit, before `onStored`, with the batches that cost more than is held for them. */
  readonly onAheadOfHold?: (batchNumbers: readonly bigint[]) => void;
}

/** A line of a group of 512 costs half of what one of a group of 64 does, in PostgreSQL and here. */
export const RESULT_GROUPS = {
  gatherMs: 40,
  // Enough to share a commit, few enough that lines go on running while they are committed.
  fullRows: 384,
  mostRows: 512,
  mostWeight: 8 * 1024 * 1024,
} satisfies ResultGroups;

/** The groups of a worker with so many slots. */
export function resultGroupsOf(slots: number): ResultGroups {
  return { ...RESULT_GROUPS, fullRows: Math.min(RESULT_GROUPS.fullRows, slots * FULL_GROUP_PER_SLOT) };
}

/** An answer counts as one more outcome for each of these bytes, so that 512 outcomes are at most 64 MiB. */
const BYTES_PER_OUTCOME = 128 * 1024;
const FIRST_RETRY_MS = 250;

/**
 * Group commit for line outcomes. Nothing is given up: while PostgreSQL is away the outcomes stay here,
 * and the lane stops starting lines once `pending` has grown too large. An outcome that PostgreSQL refuses for its data
 * holds up no other; nor does one that it takes too long to store: that waits apart.
 */
export class ResultWriter {
  private readonly logger = new Logger(ResultWriter.name);
  private readonly group: GroupCommit<LineOutcome, StoredOutcomes>;

  constructor(
    results: OutcomeStore,
    private readonly options: ResultWriterOptions,
  ) {
    const groups: ResultGroups = options;
    this.group = new GroupCommit({
      ...groups,
      weightOf: ({ body }) => body?.length ?? 0,
      firstRetryMs: FIRST_RETRY_MS,
      keyOf: batchOf,
      payerOf,
      store: (outcomes) => storeOutcomes(results, outcomes, this.logger),
      onTried: (tried) => this.onTried(tried),
    });
  }

  /** Outcomes that are not committed yet. Large ones count for several, so that what bounds this bounds their bytes. */
  get pending(): number {
    return this.group.size + Math.floor(this.group.weight / BYTES_PER_OUTCOME);
  }

  add(outcome: LineOutcome): void {
    this.group.add(outcome);
    this.options.onWeight?.(this.group.weight);
  }

  /** Says that nothing more will come until this is committed: it waits for no company. */
  hurry(): void {
    this.group.hurry();
  }

  /** Resolves when everything added so far is committed. */
  flush(): Promise<void> {
    return this.group.flush();
  }

  private onTried({ done, batchesWithDoneSegments, batchesAheadOfHold, error }: StoredOutcomes): void {
    // An outcome that waited apart is only taken from its place after this.
    setImmediate(() => this.options.onWeight?.(this.group.weight));
    if (error !== null) this.options.onFailure(error);
    if (batchesAheadOfHold.size > 0) this.options.onAheadOfHold?.([...batchesAheadOfHold]);
    if (done.length === 0) return;
    failpoint('results-committed');
    this.options.onStored(done, [...batchesWithDoneSegments]);
  }
}
