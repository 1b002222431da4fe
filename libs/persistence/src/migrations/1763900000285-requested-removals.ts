import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TENANT_ROLE } from '../tenants/tenant';

/** When a worker was asked to let a provider delete a batch; an unanswered request is repeated. */
export class RequestedRemovals1763900000285 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches ADD upstream_requested_at timestamptz');
    await runner.query(`UPDATE batches SET upstream_requested_at = now() WHERE upstream_deletion = 'requested'`);
    await runner.query(
      `CREATE INDEX batches_removal_requested ON batches (upstream_requested_at)
       WHERE upstream_deletion = 'requested' AND deleted_at IS NULL`,
    );
    await runner.query(`GRANT UPDATE (upstream_requested_at) ON batches TO ${TENANT_ROLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches DROP upstream_requested_at');
  }
}
