import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { LedgerRepository } from '../ledger/ledger.repository';
import { createTestDatabase, storeKeyIn, type TestDatabase } from '../testing';
import { listSchema } from '../testing/schema-listing';
import { KeyLimitsAndPolicies1763800000001 } from './1763800000001-key-limits-and-policies';
import { CreditedAccounts1763900000162 } from './1763900000162-credited-accounts';
import { ApartFeeds1763900000330 } from './1763900000330-apart-feeds';

/** The lines of schema.txt without its comments. */
function writtenSchema(): readonly string[] {
  const lines = readFileSync(join(__dirname, 'schema.txt'), 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !/^ *--/.test(line));
}

describe('migrations', () => {
  let created: TestDatabase;

  beforeAll(async () => {
    created = await createTestDatabase();
  });

  afterAll(() => created.drop());

  it('leave the schema that schema.txt lists', async () => {
    const dataSource = await createDataSource({ url: created.url }).initialize();
    try {
      expect(await listSchema(new Database(dataSource))).toEqual(writtenSchema());
    } finally {
      await dataSource.destroy();
    }
  });

  it('leave nothing that the entities of this library would still change', async () => {
    const dataSource = await createDataSource({ url: created.url }).initialize();
    try {
      const pending = await dataSource.driver.createSchemaBuilder().log();
      expect(pending.upQueries.map((query) => query.query)).toEqual([]);
    } finally {
      await dataSource.destroy();
    }
  });

  it('carry over to the rows of keys what they had spent and set aside', async () => {
    const dataSource = await createDataSource({ url: created.url }).initialize();
    const runner = dataSource.createQueryRunner();
    const [busy, idle] = ['a'.repeat(64), 'b'.repeat(64)];
    const organization = '00000000-0000-4000-8000-000000000001';
    try {
      await new KeyLimitsAndPolicies1763800000001().down(runner);
      await runner.query(
        `INSERT INTO ledger_accounts (id, balance_usd, held_usd, credited_usd) VALUES ('org:${organization}', 87, 9, 100)`,
      );
      await runner.query(`
        INSERT INTO ledger_transfers
          (reference, kind, debit_account, credit_account, amount_usd, api_key_hash, created_at)
        VALUES
          ('t', 'top_up', 'funding', 'org:${organization}', 100, NULL, now()),
          ('c1', 'charge', 'org:${organization}', 'revenue', 3, '${busy}', '2026-11-22 12:00Z'),
          ('c2', 'charge', 'org:${organization}', 'revenue', 5, '${idle}', '2026-11-01 12:00Z'),
          ('c3', 'charge', 'org:${organization}', 'revenue', 2, '${busy}', '2026-11-16 12:00Z'),
          ('c4', 'charge', 'org:${organization}', 'revenue', 4, '${busy}', '2026-11-15 12:00Z'),
          ('c5', 'charge', 'org:${organization}', 'revenue', 1, '${busy}', '2026-10-31 12:00Z')`);
      await runner.query(`
        INSERT INTO ledger_key_days (api_key_hash, day, charged_usd) VALUES
          ('${busy}', '2026-11-22', 3), ('${busy}', '2026-11-16', 2), ('${busy}', '2026-11-15', 4),
          ('${busy}', '2026-10-31', 1), ('${idle}', '2026-11-01', 5)`);
      await runner.query(`
        INSERT INTO batches (id, created_on, organization_id, workspace_id, api_key_hash, endpoint, model, status, expires_at)
        VALUES ('b', '2026-11-22', '${organization}', '${organization}', '${busy}', '', '', 'in_progress', now())`);
      await runner.query(`
        INSERT INTO ledger_holds (id, account_id, amount_usd, settled_usd, expires_at)
        VALUES ('b', 'org:${organization}', 9, 2, now())`);
      await new KeyLimitsAndPolicies1763800000001().up(runner);
      const rows: unknown[] = await runner.query(`
        SELECT api_key_hash, held_usd::float8 AS held, spent_on::text, total_usd::float8 AS total, day_usd::float8 AS day,
               week_usd::float8 AS week, month_usd::float8 AS month FROM ledger_keys ORDER BY api_key_hash`);
      // Charges of the batch that runs, 2 USD, are still on its hold.
      expect(rows).toEqual([
        { api_key_hash: busy, held: 9, spent_on: '2026-11-22', total: 8, day: 1, week: 3, month: 7 },
        { api_key_hash: idle, held: 0, spent_on: '2026-11-01', total: 5, day: 5, week: 5, month: 5 },
      ]);
      // The charges have no calls here, from which periods are replayed.
      const findings = await new LedgerRepository(new Database(dataSource)).audit();
      expect(findings.filter(({ figure }) => !/^(?:day|week|month)_usd$/.test(figure))).toEqual([]);
    } finally {
      await runner.release();
      await dataSource.destroy();
    }
  });

  it('carry over to accounts what they were credited before, and count what was credited since once', async () => {
    const dataSource = await createDataSource({ url: created.url }).initialize();
    const runner = dataSource.createQueryRunner();
    const account = 'org:00000000-0000-4000-8000-000000000002';
    try {
      await runner.query(`INSERT INTO ledger_accounts (id, balance_usd, credited_usd) VALUES ('${account}', 9, 2)`);
      await runner.query(`
        INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd) VALUES
          ('before-1', 'top_up', 'funding', '${account}', 3), ('before-2', 'top_up', 'funding', '${account}', 4),
          ('since', 'top_up', 'funding', '${account}', 2)`);
      await runner.query(`UPDATE ledger_transfers SET written_in = NULL WHERE reference LIKE 'before-%'`);
      await new CreditedAccounts1763900000162().up(runner);
      const rows: unknown[] = await runner.query(
        `SELECT credited_usd::float8 AS credited FROM ledger_accounts WHERE id = '${account}'`,
      );
      expect(rows).toEqual([{ credited: 9 }]);
    } finally {
      await runner.release();
      await dataSource.destroy();
    }
  });

  it('carry over the entries of each feed, of transactions too that change something meanwhile', async () => {
    const url = created.url;
    const dataSource = await createDataSource({ url, poolSize: 6 }).initialize();
    const database = new Database(dataSource);
    const keys = ['d', 'e', 'f'].map((letter) => letter.repeat(64));
    const migrateBy = async (direction: 'up' | 'down'): Promise<void> => {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      await new ApartFeeds1763900000330()[direction](runner);
      await runner.commitTransaction();
      await runner.release();
    };
    const change = (key: string, session: Pick<Database, 'execute'>): Promise<number> =>
      session.execute({ sql: 'UPDATE api_keys SET disabled = NOT disabled WHERE hash = $1', values: [key] });
    const untilWaits = async (waiting: number): Promise<void> => {
      const sql = `SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      while ((await database.rows({ sql })).length !== waiting) await delay(20);
    };
    try {
      await migrateBy('down');
      for (const key of keys) {
        await storeKeyIn(database, { organizationId: randomUUID(), workspaceId: randomUUID() }, key);
      }
      await change(keys[0]!, database);
      const { migrated, late } = await database.transaction(async (session) => {
        await change(keys[1]!, session);
        const up = migrateBy('up');
        await untilWaits(1);
        const waiting = change(keys[2]!, database);
        await untilWaits(2);
        return { migrated: up, late: waiting };
      });
      expect(await Promise.all([migrated, late])).toEqual([undefined, 1]);
      const subjects = `SELECT subject FROM access_feed_entries WHERE revision > 0 ORDER BY revision`;
      expect(await database.rows({ sql: subjects })).toEqual(keys.map((subject) => ({ subject })));
      // What a process of the version before reads.
      const before = `SELECT subject FROM change_feed_entries WHERE feed = 'access' AND revision > 0 ORDER BY revision`;
      expect(await database.rows({ sql: before })).toEqual(keys.map((subject) => ({ subject })));
      expect(await database.rows({ sql: 'SELECT revision::integer, subject FROM credentials_feed_entries' })).toEqual([
        { revision: 0, subject: '' },
      ]);
      await migrateBy('down');
      expect(await database.rows({ sql: before })).toEqual(keys.map((subject) => ({ subject })));
      await migrateBy('up');
    } finally {
      await dataSource.destroy();
    }
  });

  it('can be taken back and applied again', async () => {
    const dataSource = await createDataSource({ url: created.url }).initialize();
    try {
      for (const _ of dataSource.migrations) await dataSource.undoLastMigration();
      const tables: unknown[] = await dataSource.query(
        `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('migrations', 'typeorm_metadata')`,
      );
      expect(tables).toEqual([]);
      expect(await dataSource.runMigrations()).toHaveLength(dataSource.migrations.length);
      expect(await listSchema(new Database(dataSource))).toEqual(writtenSchema());
    } finally {
      await dataSource.destroy();
    }
  });
});
