/**
 * How long the audit of a ledger takes: all of it, the next one after 10,000 more charges, and one after a tamper of a
 * micro-dollar. And what `GET /credits` asks of PostgreSQL, with and without that history.
 *
 * Options: --transfers 10000000 --organizations 1000 --more 10000
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { mintId } from '@libs/contracts';
import {
  createDataSource,
  Database,
  GenerationsRepository,
  LedgerAuditRepository,
  LedgerRepository,
  type LedgerAuditReport,
} from '@libs/persistence';
import { anOpening, aSettlement, createTestDatabase } from '@libs/persistence/testing';
import { say } from '../scripts/checkout';
import { runBenchmark } from './support/comparison';
import { FIRST_ORGANIZATION, storeHistory } from './support/ledger-history';
import { median, rounded } from './support/statistics';

const GROUP = 500;
const ASKED = 50;

function readCount(name: string, text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 1) return count;
  throw new Error(`--${name} must be an integer of at least 1`);
}

async function timed<T>(work: () => Promise<T>): Promise<{ seconds: number; result: T }> {
  const startedMs = performance.now();
  const result = await work();
  return { seconds: rounded((performance.now() - startedMs) / 1_000, 2), result };
}

const figures = ({ seconds, result }: { seconds: number; result: LedgerAuditReport }): object => ({
  seconds,
  full: result.isFull,
  transfers: result.transfers,
  findings: result.count,
  drift_picousd: result.driftPicousd.toString(),
});

/** Charges calls as a gateway does, in its group commits. */
async function charge(database: Database, count: number): Promise<void> {
  const generations = new GenerationsRepository(database);
  const owner = { organizationId: FIRST_ORGANIZATION, workspaceId: randomUUID(), apiKeyHash: 'f'.repeat(64) };
  for (let done = 0; done < count; done += GROUP) {
    const group = Array.from({ length: Math.min(GROUP, count - done) }, () =>
      aSettlement(anOpening({ ...owner, id: mintId('gen'), holdUsd: '0' }), '0.000123'),
    );
    await generations.settle(group);
  }
}

async function creditsMs(database: Database, organizationId: string): Promise<number> {
  const ledger = new LedgerRepository(database);
  const times: number[] = [];
  for (let ask = 0; ask < ASKED; ask += 1) {
    times.push(await once(ledger, organizationId));
  }
  return rounded(median(times), 3);
}

async function once(ledger: LedgerRepository, organizationId: string): Promise<number> {
  const startedMs = performance.now();
  await ledger.creditsOf(organizationId);
  return performance.now() - startedMs;
}

async function measure(): Promise<object> {
  const { values } = parseArgs({
    options: {
      transfers: { type: 'string', default: '10000000' },
      organizations: { type: 'string', default: '1000' },
      more: { type: 'string', default: '10000' },
    },
  });
  const transfers = readCount('transfers', values.transfers);
  const created = await createTestDatabase();
  const dataSource = await createDataSource({ url: created.url, poolSize: 4 }).initialize();
  try {
    const database = new Database(dataSource);
    const audits = new LedgerAuditRepository(database);
    const stored = await timed(() =>
      storeHistory(database, { transfers, organizations: readCount('organizations', values.organizations) }),
    );
    say(`stored ${transfers} transfers in ${stored.seconds} s`);
    const full = await timed(() => audits.audit({ isFull: true }));
    say(`full: ${JSON.stringify(figures(full))}`);
    if (full.result.count > 0) {
      throw new Error(`the audit has ${full.result.count} findings in a history that is right`);
    }
    await charge(database, readCount('more', values.more));
    const incremental = await timed(() => audits.audit({ isFull: false }));
    say(`incremental: ${JSON.stringify(figures(incremental))}`);
    await database.execute({
      sql: `UPDATE ledger_transfers SET amount_usd = amount_usd + 0.000001
            WHERE reference = (SELECT reference FROM ledger_transfers WHERE kind = 'charge' LIMIT 1)`,
    });
    const tampered = await timed(() => audits.audit({ isFull: true }));
    const empty = randomUUID();
    await new LedgerRepository(database).topUp(empty, '1', randomUUID());
    return {
      benchmark: 'ledger-audit',
      full: figures(full),
      incremental: figures(incremental),
      full_after_tamper: figures(tampered),
      credits_ms: {
        with_history: await creditsMs(database, FIRST_ORGANIZATION),
        without: await creditsMs(database, empty),
      },
    };
  } finally {
    await dataSource.destroy();
    await created.drop();
  }
}

runBenchmark(measure);
