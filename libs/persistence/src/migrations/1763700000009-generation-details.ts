import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What else is known of a call: read with its row, and never searched by. */
export class GenerationDetails1763700000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE generations ADD COLUMN details json');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE generations DROP COLUMN details');
  }
}
