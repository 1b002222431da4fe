import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A batch's data at a provider cannot be deleted after the key with which it was sent was deleted. */
export class UnreachableUpstream1763900000101 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await constrain(runner, `'due', 'requested', 'deleted', 'unsupported', 'refused', 'unreachable'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`UPDATE batches SET upstream_deletion = 'refused' WHERE upstream_deletion = 'unreachable'`);
    await constrain(runner, `'due', 'requested', 'deleted', 'unsupported', 'refused'`);
  }
}

async function constrain(runner: QueryRunner, known: string): Promise<void> {
  await runner.query(`
    ALTER TABLE batches
      DROP CONSTRAINT batches_upstream_deletion_known,
      ADD CONSTRAINT batches_upstream_deletion_known CHECK (upstream_deletion IN (${known}))`);
}
