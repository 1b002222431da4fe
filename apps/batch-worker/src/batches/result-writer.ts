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
  /** Called after each commit with the batches that now have a finished segment. */
  readonly onStored: (outcomes: readonly LineOutcome[], batchesWithDoneSegments: readonly bigint[]) => void;
  /** Called whenever the total size of unstored outcomes has changed. */
  readonly onWeight?: (bytes: number) => void;
  /** Called when a commit failed; the outcomes are kept and retried. */
  readonly onFailure: (error: unknown) => void;
  /** Called after each commit, before `onStored`, with the batches that cost more than their hold. */
  readonly onAheadOfHold?: (batchNumbers: readonly bigint[]) => void;
}

/** Sizes of commit groups. In a group of 512, a line costs half as much as in one of 64, in PostgreSQL and here. */
export const RESULT_GROUPS = {
  gatherMs: 40,
  // Enough to share a commit, and few enough that lines continue to run while they are committed.
  fullRows: 384,
  mostRows: 512,
  mostWeight: 8 * 1024 * 1024,
} satisfies ResultGroups;

/** Returns the group sizes of a worker with this many slots. */
export function resultGroupsOf(slots: number): ResultGroups {
  return { ...RESULT_GROUPS, fullRows: Math.min(RESULT_GROUPS.fullRows, slots * FULL_GROUP_PER_SLOT) };
}

/** An answer counts as one more outcome for each of these bytes, so that 512 outcomes are at most 64 MiB. */
const BYTES_PER_OUTCOME = 128 * 1024;
const FIRST_RETRY_MS = 250;

/**
 * Group commit for line outcomes. None is dropped: while PostgreSQL is unavailable the outcomes stay here, and the lane
 * starts no lines once `pending` is too large. An outcome that PostgreSQL refuses because of its data does not block
 * others; one that takes too long to store waits separately.
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

  /**
   * Number of uncommitted outcomes. Large ones count several times, so a limit on this number also limits their bytes.
   */
  get pending(): number {
    return this.group.size + Math.floor(this.group.weight / BYTES_PER_OUTCOME);
  }

  add(outcome: LineOutcome): void {
    this.group.add(outcome);
    this.options.onWeight?.(this.group.weight);
  }

  /** Commits at once, because no further outcome will arrive before that. */
  hurry(): void {
    this.group.hurry();
  }

  /** Resolves when everything added so far is committed. */
  flush(): Promise<void> {
    return this.group.flush();
  }

  private onTried({ done, batchesWithDoneSegments, batchesAheadOfHold, error }: StoredOutcomes): void {
    // An outcome that waited separately is removed from its place only after this callback.
    setImmediate(() => this.options.onWeight?.(this.group.weight));
    if (error !== null) this.options.onFailure(error);
    if (batchesAheadOfHold.size > 0) this.options.onAheadOfHold?.([...batchesAheadOfHold]);
    if (done.length === 0) return;
    failpoint('results-committed');
    this.options.onStored(done, [...batchesWithDoneSegments]);
  }
}
