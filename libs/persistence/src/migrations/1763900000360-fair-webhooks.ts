import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Webhooks are claimed fairly by organization and host, and those that are being sent are counted in both ways. */
export class FairWebhooks1763900000360 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhook_deliveries_pending');
    await runner.query(
      `CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (organization_id, host, next_attempt_at)
       WHERE delivered_at IS NULL AND given_up_at IS NULL`,
    );
    await runner.query(
      `CREATE INDEX webhook_deliveries_under_way ON webhook_deliveries (lease_until)
       WHERE delivered_at IS NULL AND given_up_at IS NULL AND lease_until IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhook_deliveries_under_way');
    await runner.query('DROP INDEX webhook_deliveries_pending');
    await runner.query(
      `CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (host, next_attempt_at)
       WHERE delivered_at IS NULL AND given_up_at IS NULL`,
    );
  }
}
