import { Injectable, Logger } from '@nestjs/common';
import { PARTITIONED_TABLES, PartitionsRepository, SingleRunner, type PartitionedTable } from '@libs/persistence';
import { EachAlone, gauge, PeriodicTask } from '@libs/platform';

const TASK = 'partitions.keep';
const EVERY_MS = 3_600_000;
const MEASURE_MS = 5 * 60_000;
/** Number of DELETE statements per run for old rows of a default partition. */
const DELETES_PER_RUN = 100;

const strays = gauge({
  name: 'sluice_partition_default_rows',
  help: 'Rows in the default partition of a table, up to 10000',
  labelNames: ['table'],
});

/**
 * Creates the weekly partitions of the next month, moves rows out of the default partitions, and drops partitions past
 * their retention. Only one worker at a time does it; each table, week and step is handled separately.
 */
@Injectable()
export class PartitionKeeperService {
  private readonly logger = new Logger(PartitionKeeperService.name);
  private readonly each = new EachAlone(TASK, this.logger);
  private readonly tasks: readonly PeriodicTask[];

  constructor(
    private readonly partitions: PartitionsRepository,
    runner: SingleRunner,
  ) {
    this.tasks = [
      new PeriodicTask({ name: TASK, everyMs: EVERY_MS, isImmediate: true, runner }, () => this.keepAll()),
      // Each worker measures, because a worker that does not would export old numbers.
      new PeriodicTask({ name: 'partitions.measure', everyMs: MEASURE_MS }, () => this.measure()),
    ];
  }

  start(): void {
    for (const task of this.tasks) task.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.tasks.map((task) => task.stop()));
  }

  /** Runs one pass. Never throws. */
  async keep(): Promise<void> {
    for (const task of this.tasks) await task.runOnce();
  }

  private async keepAll(): Promise<void> {
    for (const table of PARTITIONED_TABLES) {
      await this.each.run(`${table} clear`, () => this.clear(table));
      await this.each.run(`${table} make`, () => this.make(table));
      await this.each.run(`${table} drop`, () => this.drop(table));
    }
  }

  /** Old rows first: they need no partition. */
  private async clear(table: PartitionedTable): Promise<void> {
    await this.partitions.dropCheck(table);
    for (let statement = 0; statement < DELETES_PER_RUN; statement += 1) {
      if ((await this.partitions.deleteExpiredStrays(table)) === 0) return;
    }
  }

  private async make(table: PartitionedTable): Promise<void> {
    const { weeks, adoption } = await this.partitions.plan(table);
    const made = await this.each.forEach(
      weeks.map((monday) => ({ monday, name: `${table} ${monday}` })),
      ({ name }) => name,
      async ({ monday }) => {
        const moved = await this.partitions.makeWeek(table, monday);
        if (moved > 0) this.logger.warn(`${moved} rows of the week of ${monday} stood in the default of ${table}`);
      },
    );
    // While PostgreSQL checks that the default partition has no rows of these weeks, no such row could be written.
    if (adoption === null || made < weeks.length) return;
    await this.each.run(`${table} adoption`, async () => {
      await this.partitions.adoptDefault(table, adoption);
      this.logger.warn(`the default of ${table} is now its partition from ${adoption.from} to ${adoption.to}`);
    });
    // The weeks around the adopted ones.
    const left = await this.partitions.plan(table);
    for (const monday of left.weeks) {
      await this.each.run(`${table} ${monday}`, () => this.partitions.makeWeek(table, monday));
    }
  }

  private async drop(table: PartitionedTable): Promise<void> {
    const dropped = await this.each.forEach(
      await this.partitions.expired(table),
      (name) => name,
      (name) => this.partitions.drop(table, name),
    );
    if (dropped > 0) this.logger.log(`${dropped} partitions of ${table} with expired batches were dropped`);
  }

  private async measure(): Promise<void> {
    for (const table of PARTITIONED_TABLES) strays.set({ table }, await this.partitions.countStrays(table));
  }
}
