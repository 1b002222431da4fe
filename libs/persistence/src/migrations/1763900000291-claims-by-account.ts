import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A claim takes the oldest jobs of each organization at each provider, by one index that replaces the one by time. */
export class ClaimsByAccount1763900000291 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, 'provider, organization_id, next_at', 'provider, organization_id, available_at');
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, 'next_at', 'available_at');
  }
}

async function replaceIndexes(runner: QueryRunner, ofVideos: string, ofOrders: string): Promise<void> {
  await runner.query('DROP INDEX videos_due');
  await runner.query(`CREATE INDEX videos_due ON videos (${ofVideos}) WHERE finished_at IS NULL`);
  await runner.query('DROP INDEX native_batches_due');
  await runner.query(`CREATE INDEX native_batches_due ON native_batches (${ofOrders}) WHERE state <> 'done'`);
}
