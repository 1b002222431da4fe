import type { MigrationInterface, QueryRunner } from 'typeorm';
import { guardTenantRows } from './tenant-policy';

/** Charges that wait, as for a locked account, are written down, so that a gateway that dies does not lose them. */
export class DelayedCharges1763900000370 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE delayed_charges (
        id text NOT NULL,
        organization_id uuid NOT NULL,
        settlement json NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT delayed_charges_pkey PRIMARY KEY (id)
      )`);
    await runner.query('CREATE INDEX delayed_charges_by_age ON delayed_charges (created_at)');
    await guardTenantRows(runner, 'delayed_charges', { owned: 'false' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE delayed_charges');
  }
}
