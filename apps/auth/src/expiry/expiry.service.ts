import { Injectable, Logger } from '@nestjs/common';
import { AuditRepository } from '@libs/persistence';
import { counter, PeriodicTask } from '@libs/platform';
import { EXPIRING_TABLES, ExpiredRowsRepository } from './expired-rows.repository';

const EVERY_MS = 60_000;
const ROWS_PER_STATEMENT = 1_000;
/** Of one table in one pass: a backlog is worked off over several, and never holds the database for long. */
const STATEMENTS_PER_PASS = 20;

const deleted = counter({
  name: 'sluice_expired_rows_deleted_total',
  help: 'Rows deleted after their time, by table',
  labelNames: ['table'],
});

/** Deletes what has had its time. Any number of processes may do it at once. */
@Injectable()
export class ExpiryService {
  private readonly logger = new Logger(ExpiryService.name);
  private readonly task = new PeriodicTask({ everyMs: EVERY_MS }, () => this.pass());

  constructor(
    private readonly rows: ExpiredRowsRepository,
    private readonly audit: AuditRepository,
    private readonly auditRetentionDays: number,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** One pass over all tables. What fails is logged, and the next pass tries again. */
  async pass(): Promise<void> {
    for (const table of EXPIRING_TABLES) {
      await this.drain(table, (limit) => this.rows.deleteExpired(table, limit));
    }
    await this.drain('audit_entries', (limit) => this.audit.deleteOlderThan(this.auditRetentionDays, limit));
  }

  private async drain(table: string, deleteSome: (limit: number) => Promise<number>): Promise<void> {
    try {
      for (let statement = 0; statement < STATEMENTS_PER_PASS && !this.task.isStopped; statement += 1) {
        const count = await deleteSome(ROWS_PER_STATEMENT);
        deleted.inc({ table }, count);
        if (count < ROWS_PER_STATEMENT) return;
      }
    } catch (error) {
      this.logger.warn('Expired rows could not be deleted', { table, err: error });
    }
  }
}
