import { setTimeout as delay } from 'node:timers/promises';
import type { LoggerService } from '@nestjs/common';
import { sqlStateOf, type GenerationSettlement, type GenerationsRepository } from '@libs/persistence';
import { counter } from '@libs/platform';

const MOST_ROWS = 500;
/** Nobody waits for a charge; a commit that gathers them for a moment is shared by many. */
const GATHER_MS = 25;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

const settled = counter({ name: 'sluice_generations_settled_total', help: 'Calls whose charge was committed' });
const refused = counter({
  name: 'sluice_generations_unsettled_total',
  help: 'Calls whose charge the database refused as invalid; each one is in the log',
});

/**
 * Charges on their way to the books, committed in groups: whatever waits when a commit is through makes the
 * next one. While PostgreSQL is away they wait here and are tried again for as long as the process lives;
 * committing one twice changes nothing, so an unknown outcome is simply tried again.
 */
export class SettlementQueue {
  private readonly waiting: GenerationSettlement[] = [];
  private running: Promise<void> | null = null;
  private isHurried = false;

  constructor(
    private readonly repository: Pick<GenerationsRepository, 'settle'>,
    private readonly logger: LoggerService,
  ) {}

  get size(): number {
    return this.waiting.length;
  }

  add(settlement: GenerationSettlement): void {
    this.waiting.push(settlement);
    this.running ??= this.run();
  }

  /** Resolves when everything has been committed. */
  async flushed(): Promise<void> {
    this.isHurried = true;
    while (this.running !== null) await this.running;
    this.isHurried = false;
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (this.waiting.length > 0) {
      if (!this.isHurried && this.waiting.length < MOST_ROWS) await delay(GATHER_MS);
      const group = this.waiting.slice(0, MOST_ROWS);
      if (await this.commit(group, failures)) {
        this.waiting.splice(0, group.length);
        failures = 0;
      } else {
        failures += 1;
        const longestMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));
        await delay(longestMs * (0.5 + Math.random() / 2));
      }
    }
    this.running = null;
  }

  /** Whether the group is done with. */
  private async commit(group: readonly GenerationSettlement[], failures: number): Promise<boolean> {
    try {
      await this.repository.settle(group);
      settled.inc(group.length);
      return true;
    } catch (error) {
      if (isAboutTheData(error)) return this.commitOneByOne(group, error);
      // Once per outage: a line for every retry would say nothing new.
      if (failures === 0) this.logger.error('Charges wait for PostgreSQL', { err: error, waiting: this.size });
      return false;
    }
  }

  /** One charge that PostgreSQL will never take must not hold up the others. */
  private async commitOneByOne(group: readonly GenerationSettlement[], error: unknown): Promise<boolean> {
    const [only] = group;
    if (group.length === 1 && only !== undefined) {
      refused.inc();
      const { id, organizationId, costUsd, model } = only;
      this.logger.error('A charge was refused as invalid', {
        err: error,
        generationId: id,
        organizationId,
        costUsd,
        model,
      });
      return true;
    }
    for (const settlement of group) {
      if (!(await this.commit([settlement], 1))) return false;
    }
    return true;
  }
}

/** Data exceptions and constraint violations: the same rows would fail again. */
function isAboutTheData(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== null && (state.startsWith('22') || state.startsWith('23'));
}
