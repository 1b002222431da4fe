import { Injectable, Logger } from '@nestjs/common';
import type { LedgerAuditReport, LedgerAuditRepository, SingleRunner } from '@libs/persistence';
import { gauge, PeriodicTask } from '@libs/platform';

const TASK = 'ledger.audit';
const TICK_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A full audit of a very large ledger; as long as its statements may take. */
const LONGEST_MS = 2 * HOUR_MS;
/** A run of SingleRunner may start a tenth of its interval early. */
const EARLY = 0.9;
const MOST_LOGGED = 20;
/** A day, the longest audit, and some hours for audits that are late for a good reason. */
const OVERDUE_MS = 30 * HOUR_MS;

const drift = gauge({
  name: 'sluice_ledger_drift_picousd',
  help: 'Sum of all differences that the last audit of the ledger found, in pico-dollars',
});

const age = gauge({
  name: 'sluice_ledger_audit_age_seconds',
  help: 'Time since the last audit of the ledger, or since this process began where there was none',
});

export interface LedgerAuditTimes {
  /** UTC hour from which on the audit of a day runs. */
  readonly hourUtc: number;
  /** The audit reads everything again after this many days; 0: never by itself. */
  readonly fullDays: number;
  readonly now?: () => number;
}

/**
 * Audits the ledger once a day, in one process only. Every process exports what the last audit found and how old it is,
 * whichever process or command ran it, because any PostgreSQL login can take the lock of the task.
 */
@Injectable()
export class LedgerAuditService {
  private readonly logger = new Logger(LedgerAuditService.name);
  private readonly task = new PeriodicTask({ name: TASK, everyMs: TICK_MS }, () => this.auditWhenDue());
  private readonly now: () => number;
  private readonly beganMs: number;
  private saidMs = -Infinity;

  constructor(
    private readonly audits: Pick<LedgerAuditRepository, 'audit' | 'last'>,
    private readonly runner: Pick<SingleRunner, 'run'>,
    private readonly times: LedgerAuditTimes,
  ) {
    this.now = times.now ?? Date.now;
    this.beganMs = this.now();
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Audits if that is due, and shows the last result. Never throws. */
  pass(): Promise<void> {
    return this.task.runOnce();
  }

  private async auditWhenDue(): Promise<void> {
    try {
      const everyMs = this.sinceDueMs() / EARLY;
      await this.runner.run(TASK, { everyMs, longestMs: LONGEST_MS }, () => this.audit());
    } finally {
      await this.showLast();
    }
  }

  private async showLast(): Promise<void> {
    const last = await this.audits.last();
    drift.set(Number(last?.driftPicousd ?? 0n));
    const ageMs = this.now() - (last?.auditedAt.getTime() ?? this.beganMs);
    age.set(ageMs / 1_000);
    if (ageMs < OVERDUE_MS || this.now() - this.saidMs < HOUR_MS) return;
    this.saidMs = this.now();
    const hours = Math.floor(ageMs / HOUR_MS);
    this.logger.error(
      `the ledger was not audited for ${hours} hours: its audit fails, or a session holds the lock of ${TASK}`,
    );
  }

  /** How long ago the audit of the current day became due; a run that ended since then was that audit. */
  private sinceDueMs(): number {
    return (this.now() - this.times.hourUtc * HOUR_MS) % DAY_MS;
  }

  private async audit(): Promise<void> {
    const last = await this.audits.last();
    const { fullDays } = this.times;
    const isFull = last !== null && fullDays > 0 && this.now() - last.fullAt.getTime() > fullDays * DAY_MS - DAY_MS / 2;
    this.report(await this.audits.audit({ isFull }));
  }

  private report({ count, driftPicousd, findings, transfers, isFull }: LedgerAuditReport): void {
    const read = `${isFull ? 'full' : 'incremental'} audit of the ledger, ${transfers} transfers read`;
    if (count === 0) return this.logger.log(`${read}: no difference`);
    this.logger.error(`${read}: ${count} differences, ${driftPicousd} pico-dollars; run "sluice ledger audit --full"`);
    for (const { kind, id, figure, foundUsd, expectedUsd } of findings.slice(0, MOST_LOGGED)) {
      this.logger.error(`${kind} ${id}: ${figure} is ${foundUsd}, expected ${expectedUsd}`);
    }
  }
}
