import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When an operator last had an event sent again, which restarts its lifetime. Null: it counts from the event. */
export class WebhookRedeliveries1763900000081 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries ADD COLUMN redelivered_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries DROP COLUMN redelivered_at');
  }
}
