import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What each key has reserved and spent, in one row per key, so that its spending limit can be checked and taken in one
 * statement. Past amounts are carried over. Also the policies of workspaces and keys.
 */
export class KeyLimitsAndPolicies1763800000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE ledger_key_days ADD COLUMN byok_usd numeric(38,12) NOT NULL DEFAULT 0`);
    await runner.query(`
      ALTER TABLE ledger_holds
        ADD COLUMN api_key_hash character(64),
        ADD COLUMN settled_byok_usd numeric(38,12) NOT NULL DEFAULT 0`);
    await runner.query(`
      UPDATE ledger_holds h SET api_key_hash = b.api_key_hash FROM batches b WHERE b.id = h.id AND h.state = 'open'`);
    await runner.query(`
      CREATE TABLE ledger_keys (
        api_key_hash character(64) NOT NULL,
        held_usd numeric(38,12) NOT NULL DEFAULT 0,
        spent_on date NOT NULL DEFAULT '1970-01-01',
        total_usd numeric(38,12) NOT NULL DEFAULT 0,
        day_usd numeric(38,12) NOT NULL DEFAULT 0,
        week_usd numeric(38,12) NOT NULL DEFAULT 0,
        month_usd numeric(38,12) NOT NULL DEFAULT 0,
        byok_total_usd numeric(38,12) NOT NULL DEFAULT 0,
        byok_day_usd numeric(38,12) NOT NULL DEFAULT 0,
        byok_week_usd numeric(38,12) NOT NULL DEFAULT 0,
        byok_month_usd numeric(38,12) NOT NULL DEFAULT 0,
        CONSTRAINT ledger_keys_pkey PRIMARY KEY (api_key_hash),
        CONSTRAINT ledger_keys_held_not_negative CHECK (held_usd >= 0)
      ) WITH (fillfactor = 50)`);
    await this.carryOver(runner);
    for (const table of ['workspaces', 'api_keys']) await runner.query(`ALTER TABLE ${table} ADD COLUMN policy jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['workspaces', 'api_keys']) await runner.query(`ALTER TABLE ${table} DROP COLUMN policy`);
    await runner.query('DROP TABLE ledger_keys');
    await runner.query('ALTER TABLE ledger_holds DROP COLUMN api_key_hash, DROP COLUMN settled_byok_usd');
    await runner.query('ALTER TABLE ledger_key_days DROP COLUMN byok_usd');
  }

  /** Charges of a running batch are on its hold, and count for its key when the hold is resolved. */
  private async carryOver(runner: QueryRunner): Promise<void> {
    await runner.query(`
      INSERT INTO ledger_keys (api_key_hash, held_usd, spent_on, total_usd, day_usd, week_usd, month_usd)
      WITH day AS (
        SELECT api_key_hash, charged_usd, day, max(day) OVER (PARTITION BY api_key_hash) AS last FROM ledger_key_days
      ), spent AS (
        SELECT api_key_hash, last, sum(charged_usd) AS total,
               sum(charged_usd) FILTER (WHERE day = last) AS day,
               sum(charged_usd) FILTER (WHERE date_trunc('week', day) = date_trunc('week', last)) AS week,
               sum(charged_usd) FILTER (WHERE date_trunc('month', day) = date_trunc('month', last)) AS month
        FROM day GROUP BY api_key_hash, last
      ), held AS (
        SELECT api_key_hash, sum(amount) AS amount, sum(settled) AS settled FROM (
          SELECT api_key_hash, amount_usd AS amount, settled_usd AS settled FROM ledger_holds WHERE state = 'open'
          UNION ALL
          SELECT api_key_hash, hold_usd, 0 FROM generations WHERE state = 'open'
        ) open WHERE api_key_hash IS NOT NULL GROUP BY api_key_hash
      )
      SELECT api_key_hash, coalesce(held.amount, 0), coalesce(spent.last, '1970-01-01'),
             coalesce(spent.total, 0) - coalesce(held.settled, 0),
             greatest(0, coalesce(spent.day, 0) - coalesce(held.settled, 0)),
             greatest(0, coalesce(spent.week, 0) - coalesce(held.settled, 0)),
             greatest(0, coalesce(spent.month, 0) - coalesce(held.settled, 0))
      FROM spent FULL JOIN held USING (api_key_hash)`);
  }
}
