import { Logger } from '@nestjs/common';
import type { LastLedgerAudit, LedgerAuditReport, LedgerAuditRepository, SingleRunner } from '@libs/persistence';
import { gauge } from '@libs/platform';
import { LedgerAuditService } from './ledger-audit.service';

const CLEAN: LedgerAuditReport = { isFull: false, transfers: 3, count: 0, driftPicousd: 0n, findings: [] };
const FOUND: LedgerAuditReport = {
  ...CLEAN,
  count: 1,
  driftPicousd: 1_000_000n,
  findings: [
    { kind: 'account', id: 'org:1', figure: 'balance_usd', foundUsd: '1.000001000000', expectedUsd: '1.000000000000' },
  ],
};
const HOUR_MS = 3_600_000;

/** As SingleRunner does with one process: a run is left out when one ended less than nine tenths of `everyMs` ago. */
class OneProcess implements Pick<SingleRunner, 'run'> {
  private endedMs = -Infinity;

  /** A session that is no process of ours has the lock. */
  isLocked = false;

  constructor(private readonly now: () => number) {}

  async run(_task: string, { everyMs }: { everyMs: number }, work: () => Promise<unknown>): Promise<boolean> {
    if (this.isLocked || this.endedMs > this.now() - everyMs * 0.9) return false;
    await work();
    this.endedMs = this.now();
    return true;
  }
}

/** An audit that finds what it is given. */
class RecordedAudits implements Pick<LedgerAuditRepository, 'audit' | 'last'> {
  readonly runs: { isFull: boolean; at: string }[] = [];
  lastAudit: LastLedgerAudit | null = null;
  report = CLEAN;

  constructor(private readonly now: () => number) {}

  async audit({ isFull }: { isFull: boolean }): Promise<LedgerAuditReport> {
    const at = new Date(this.now());
    this.runs.push({ isFull, at: at.toISOString().slice(0, 13) });
    const fullAt = isFull || this.lastAudit === null ? at : this.lastAudit.fullAt;
    this.lastAudit = { auditedAt: at, fullAt, driftPicousd: this.report.driftPicousd };
    return this.report;
  }

  async last(): Promise<LastLedgerAudit | null> {
    return this.lastAudit;
  }
}

function setUp(startsAt: string, fullDays = 7) {
  const clock = { nowMs: Date.parse(startsAt) };
  const now = (): number => clock.nowMs;
  const audits = new RecordedAudits(now);
  const runner = new OneProcess(now);
  const service = new LedgerAuditService(audits, runner, { hourUtc: 3, fullDays, now });
  const hours = async (count: number): Promise<void> => {
    for (let hour = 0; hour < count; hour += 1) {
      await service.pass();
      clock.nowMs += HOUR_MS;
    }
  };
  return { audits, runner, service, hours };
}

const shown = async (name = 'sluice_ledger_drift_picousd'): Promise<number | undefined> =>
  (await gauge({ name, help: '' }).get()).values[0]?.value;
const shownAge = (): Promise<number | undefined> => shown('sluice_ledger_audit_age_seconds');

describe(LedgerAuditService.name, () => {
  let said: jest.SpyInstance;

  beforeEach(() => {
    jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
    said = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(() => jest.restoreAllMocks());

  it('audits once a day, from its hour on, and at once where no audit ran since', async () => {
    const { audits, hours } = setUp('2026-11-23T10:30:00Z');
    await hours(48);
    expect(audits.runs.map(({ at }) => at)).toEqual(['2026-11-23T10', '2026-11-24T03', '2026-11-25T03']);
  });

  it('reads the whole ledger every seventh night', async () => {
    const { audits, hours } = setUp('2026-11-01T03:30:00Z');
    await hours(15 * 24);
    expect(audits.runs.filter(({ isFull }) => isFull).map(({ at }) => at)).toEqual(['2026-11-08T03', '2026-11-15T03']);
  });

  it('never reads the whole ledger by itself where that is not wanted', async () => {
    const { audits, hours } = setUp('2026-11-01T03:30:00Z', 0);
    await hours(15 * 24);
    expect(audits.runs.filter(({ isFull }) => isFull)).toEqual([]);
  });

  it('shows and names what was found', async () => {
    const { audits, hours } = setUp('2026-11-23T10:30:00Z');
    audits.report = FOUND;
    await hours(1);
    expect(await shown()).toBe(1_000_000);
    expect(said.mock.calls.flat().join('\n')).toContain('account org:1: balance_usd is 1.000001000000');
  });

  it('shows what another process or the command found last', async () => {
    const { audits, hours } = setUp('2026-11-23T10:30:00Z');
    await hours(1);
    audits.lastAudit = { ...audits.lastAudit!, driftPicousd: 5n };
    await hours(1);
    expect([audits.runs.length, await shown()]).toEqual([1, 5]);
  });

  it('shows how old the last audit is, and says each hour that it is overdue', async () => {
    const { audits, runner, hours } = setUp('2026-11-23T03:30:00Z');
    await hours(24);
    expect([audits.runs.length, await shownAge(), said.mock.calls.length]).toEqual([1, 23 * 3_600, 0]);
    runner.isLocked = true;
    await hours(6);
    expect([audits.runs.length, await shownAge(), said.mock.calls.length]).toEqual([1, 29 * 3_600, 0]);
    await hours(2);
    expect([await shownAge(), said.mock.calls.length]).toEqual([31 * 3_600, 2]);
    expect(said.mock.calls[0]).toEqual([expect.stringContaining('not audited for 30 hours')]);
    runner.isLocked = false;
    await hours(1);
    expect([await shownAge(), said.mock.calls.length]).toEqual([0, 2]);
  });

  it('shows, where there was no audit, for how long it has waited for the first', async () => {
    const { runner, hours } = setUp('2026-11-23T03:30:00Z');
    runner.isLocked = true;
    await hours(32);
    expect([await shownAge(), said.mock.calls.length]).toEqual([31 * 3_600, 2]);
  });
});
