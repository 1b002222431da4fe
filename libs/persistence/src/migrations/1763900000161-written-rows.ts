import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An index of a larger table is built without blocking writers, which takes several transactions. */
const SMALL_BYTES = 16 * 1024 * 1024;
const BRIN = 'USING brin (written_in) WITH (pages_per_range = 32, autosummarize = on)';

/** A key belongs to one workspace and account, so there are as many owners of charges as keys, not the product. */
const STATISTICS = [
  ['ledger_transfers_owners', '(ndistinct) ON kind, debit_account, credit_account, workspace_id, api_key_hash'],
  ['ledger_transfers_days', `ON ((created_at AT TIME ZONE 'UTC')::date)`],
] as const;

interface Relation {
  readonly name: string;
  readonly isLarge: boolean;
}

/**
 * Indexes rows by the transaction that wrote them. Rows are written in that order, so a block-range index suffices,
 * which costs almost nothing to maintain. The statistics let a full audit sum in parallel. Each step can be repeated
 * after a run that broke off.
 */
export class WrittenRows1763900000161 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const [name, of] of STATISTICS) {
      await runner.query(`CREATE STATISTICS IF NOT EXISTS ${name} ${of} FROM ledger_transfers`);
    }
    // Building an index without locks waits for running transactions.
    await runner.query(`SET lock_timeout = '10min'`);
    try {
      await createIndex(runner, await relation(runner, 'ledger_transfers'));
      for (const table of ['generations', 'batch_results']) {
        await runner.query(`CREATE INDEX IF NOT EXISTS ${table}_written ON ONLY ${table} ${BRIN}`);
        for (const partition of await partitionsWithoutIndex(runner, table)) {
          await createIndex(runner, partition);
          await runner.query(`ALTER INDEX ${table}_written ATTACH PARTITION "${partition.name}_written"`);
        }
      }
    } finally {
      await runner.query('RESET lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [name] of STATISTICS) await runner.query(`DROP STATISTICS IF EXISTS ${name}`);
    for (const table of ['batch_results', 'generations', 'ledger_transfers']) {
      await runner.query(`DROP INDEX IF EXISTS ${table}_written`);
    }
  }
}

async function createIndex(runner: QueryRunner, { name, isLarge }: Relation): Promise<void> {
  // An index build that broke off leaves an invalid index.
  await runner.query(`DROP INDEX IF EXISTS "${name}_written"`);
  await runner.query(`CREATE INDEX ${isLarge ? 'CONCURRENTLY' : ''} "${name}_written" ON "${name}" ${BRIN}`);
}

async function relation(runner: QueryRunner, name: string): Promise<Relation> {
  const [row] = (await runner.query('SELECT pg_relation_size($1::regclass) > $2 AS "isLarge"', [
    name,
    SMALL_BYTES,
  ])) as { isLarge: boolean }[];
  return { name, isLarge: row?.isLarge === true };
}

async function partitionsWithoutIndex(runner: QueryRunner, table: string): Promise<Relation[]> {
  return (await runner.query(
    `SELECT c.relname AS name, pg_relation_size(c.oid) > $2 AS "isLarge"
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = $1::regclass AND NOT EXISTS (
       SELECT FROM pg_index x JOIN pg_inherits p ON p.inhrelid = x.indexrelid
       WHERE x.indrelid = c.oid AND p.inhparent = $3::regclass)
     ORDER BY 1`,
    [table, SMALL_BYTES, `${table}_written`],
  )) as Relation[];
}
