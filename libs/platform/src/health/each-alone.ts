import type { LoggerService } from '@nestjs/common';
import { counter, gauge } from '../telemetry/metrics';
import { describeFailure } from '../messaging/broker-failure';

const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 5 * 60_000;
/** If more ids fail than this, those that failed longest ago are forgotten. */
const MOST_RESTING = 10_000;

const failures = counter({
  name: 'sluice_task_item_failures_total',
  help: 'Things that a task could not handle, by task; each is in the log with its id',
  labelNames: ['task'],
});
const resting = gauge({
  name: 'sluice_task_items_resting',
  help: 'Things that failed and are left alone for now, by task',
  labelNames: ['task'],
});

interface Rest {
  readonly failures: number;
  readonly untilMs: number;
}

/**
 * Handles items one by one, so that one that fails does not stop others. A failure is counted, logged if it is the
 * first in a row, and makes the id pause: the query that looks for work must exclude `restingIds`.
 */
export class EachAlone {
  private readonly rests = new Map<string, Rest>();

  /** @param task label of the metrics and of the log */
  constructor(
    private readonly task: string,
    private readonly logger: Pick<LoggerService, 'warn'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Returns the ids that are not to be tried now. */
  restingIds(): string[] {
    const nowMs = this.nowMs();
    for (const [id, { untilMs }] of this.rests) {
      // An id that was not seen for this long after its pause no longer needs handling.
      if (untilMs < nowMs - LONGEST_REST_MS) this.rests.delete(id);
    }
    this.measure();
    return [...this.rests].filter(([, rest]) => rest.untilMs > nowMs).map(([id]) => id);
  }

  /** Runs `work` unless the id rests. Returns false if it rests or fails; never throws. */
  async run(id: string, work: () => Promise<unknown>): Promise<boolean> {
    const rest = this.rests.get(id);
    if (rest !== undefined && rest.untilMs > this.nowMs()) return false;
    try {
      await work();
      if (rest !== undefined) this.recovered(id, rest);
      return true;
    } catch (error) {
      this.failed(id, error);
      return false;
    }
  }

  /**
   * Runs `work` for each item in turn. Returns how many succeeded; never throws.
   * @param groupOf returns what items share, such as an account that may be locked: if one fails, the others of its
   * group wait for five seconds, because each may take a timeout to fail
   */
  async forEach<Item>(
    items: Iterable<Item>,
    idOf: (item: Item) => string,
    work: (item: Item) => Promise<unknown>,
    groupOf?: (item: Item) => unknown,
  ): Promise<number> {
    const failedGroups = new Set<unknown>();
    let succeeded = 0;
    for (const item of items) {
      const id = idOf(item);
      if (groupOf !== undefined && failedGroups.has(groupOf(item))) this.waits(id);
      else if (await this.run(id, () => work(item))) succeeded += 1;
      else if (groupOf !== undefined) failedGroups.add(groupOf(item));
    }
    return succeeded;
  }

  /** Counts, logs and pauses an id whose work failed in other code. */
  failed(id: string, error: unknown): void {
    const before = this.rests.get(id)?.failures ?? 0;
    const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(before, 16));
    this.rests.delete(id);
    this.rests.set(id, { failures: before + 1, untilMs: this.nowMs() + restMs });
    for (const [oldest] of this.rests) {
      if (this.rests.size <= MOST_RESTING) break;
      this.rests.delete(oldest);
    }
    this.measure();
    failures.inc({ task: this.task });
    if (before > 0) return;
    this.logger.warn(`${this.task}: ${id} failed and is tried again later: ${describeFailure(error)}`);
  }

  private waits(id: string): void {
    this.rests.set(id, { failures: this.rests.get(id)?.failures ?? 0, untilMs: this.nowMs() + FIRST_REST_MS });
  }

  private recovered(id: string, { failures: count }: Rest): void {
    this.rests.delete(id);
    this.measure();
    this.logger.warn(`${this.task}: ${id} succeeded after ${count} failures`);
  }

  private measure(): void {
    resting.set({ task: this.task }, this.rests.size);
  }
}
