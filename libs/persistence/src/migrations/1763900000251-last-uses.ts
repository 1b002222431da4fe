import type { MigrationInterface, QueryRunner } from 'typeorm';
import { guardTenantRows, ORGANIZATION } from './tenant-policy';

/**
 * When keys and credentials were last used. In a separate table: in their own tables each use would be a change that
 * the feeds report to every process, and would rewrite rows that others lock.
 */
export class LastUses1763900000251 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Leaves room in each page, so that a row is updated in place, without a change of the index.
    await runner.query(`
      CREATE TABLE last_uses (
        subject text NOT NULL,
        organization_id uuid NOT NULL,
        used_at timestamptz NOT NULL,
        CONSTRAINT last_uses_pkey PRIMARY KEY (subject)
      ) WITH (fillfactor = 50)`);
    await guardTenantRows(runner, 'last_uses', { owned: `organization_id = ${ORGANIZATION}`, granted: 'SELECT' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE last_uses');
  }
}
