import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Further facts of a call: read with its row, never searched. */
export class GenerationDetails1763700000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE generations ADD COLUMN details json');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE generations DROP COLUMN details');
  }
}
