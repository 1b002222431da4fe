import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How much of its free allowance for own keys each organization has used in a month. */
export class ByokMonths1763900000041 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE ledger_byok_months (
        organization_id uuid NOT NULL,
        month date NOT NULL,
        list_usd numeric(38,12) NOT NULL,
        CONSTRAINT ledger_byok_months_pkey PRIMARY KEY (organization_id, month)
      ) WITH (fillfactor = 50)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE ledger_byok_months');
  }
}
