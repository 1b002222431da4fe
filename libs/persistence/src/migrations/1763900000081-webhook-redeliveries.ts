import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Since when an event is owed, if not since it happened: an operator who has it sent again starts its time anew. */
export class WebhookRedeliveries1763900000081 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries ADD COLUMN redelivered_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries DROP COLUMN redelivered_at');
  }
}
