import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Running batches in the order in which each workspace's are claimed, so that a claim need not read all of them. */
export class BatchesInTurn1763900000112 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX batches_in_turn ON batches (workspace_id, expires_at, number)
       WHERE status = 'in_progress' AND stop_by IS NULL AND finalized_at IS NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX batches_in_turn');
  }
}
