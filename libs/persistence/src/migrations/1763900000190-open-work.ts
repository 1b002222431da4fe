import type { MigrationInterface, QueryRunner } from 'typeorm';

/** For each key that a worker requests, the credentials app checks whether its workspace has work for it. */
export class OpenWork1763900000190 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX videos_open ON videos (workspace_id) WHERE finished_at IS NULL');
    await runner.query(
      `CREATE INDEX webhook_deliveries_owed ON webhook_deliveries (workspace_id)
       WHERE delivered_at IS NULL AND given_up_at IS NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhook_deliveries_owed');
    await runner.query('DROP INDEX videos_open');
  }
}
