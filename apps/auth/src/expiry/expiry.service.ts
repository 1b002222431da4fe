import { Injectable, Logger } from '@nestjs/common';
import { AuditRepository, storeApart } from '@libs/persistence';
import { counter, EachAlone, PeriodicTask, type TaskRunner } from '@libs/platform';
import { EXPIRING_TABLES, ExpiredRowsRepository, type ExpiringTable } from './expired-rows.repository';

const TASK = 'expired-rows.delete';
const EVERY_MS = 60_000;
const ROWS_PER_STATEMENT = 1_000;
/** Most DELETEs per table in one run: a backlog takes several runs and never blocks the database for long. */
const STATEMENTS_PER_PASS = 20;

const deleted = counter({
  name: 'sluice_expired_rows_deleted_total',
  help: 'Rows deleted after their time, by table',
  labelNames: ['table'],
});

/** Deletes expired rows, in one process at a time; a row that cannot be deleted stops no other. */
@Injectable()
export class ExpiryService {
  private readonly each = new EachAlone(TASK, new Logger(ExpiryService.name));
  private readonly task: PeriodicTask;

  constructor(
    private readonly rows: ExpiredRowsRepository,
    private readonly audit: AuditRepository,
    private readonly auditRetentionDays: number,
    runner: TaskRunner,
  ) {
    this.task = new PeriodicTask({ name: TASK, everyMs: EVERY_MS, runner }, () => this.deleteAll());
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Runs one pass over all tables. Never throws. */
  pass(): Promise<void> {
    return this.task.runOnce();
  }

  private async deleteAll(): Promise<void> {
    for (const table of EXPIRING_TABLES) {
      await this.each.run(table, () => this.drain(table, (limit) => this.deleteSome(table, limit)));
    }
    const deleteEntries = (limit: number): Promise<number> =>
      this.audit.deleteOlderThan(this.auditRetentionDays, limit);
    await this.each.run('audit_entries', () => this.drain('audit_entries', deleteEntries));
  }

  private async drain(table: string, deleteSome: (limit: number) => Promise<number>): Promise<void> {
    for (let statement = 0; statement < STATEMENTS_PER_PASS && !this.task.isStopped; statement += 1) {
      const count = await deleteSome(ROWS_PER_STATEMENT);
      deleted.inc({ table }, count);
      if (count === 0) return;
    }
  }

  private async deleteSome(table: ExpiringTable, limit: number): Promise<number> {
    const prefix = `${table} `;
    const resting = this.each.restingIds().filter((id) => id.startsWith(prefix));
    const except = resting.map((id) => id.slice(prefix.length));
    const keys = await this.rows.findExpired(table, limit, except);
    const { stored, refused, stuck, failed } = await storeApart(keys, (some) => this.rows.delete(table, some));
    for (const { row, error } of [...refused, ...stuck]) this.each.failed(prefix + row, error);
    if (failed !== null) throw failed.error;
    return stored.reduce((sum, { result }) => sum + result, 0);
  }
}
