import type { MigrationInterface, QueryRunner } from 'typeorm';

/** States for segments that no claim may take: those in a provider's own batch, and those that seem to kill workers. */
export class SegmentStates1763900000130 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE batch_segments DROP CONSTRAINT batch_segments_state_known,
        ADD CONSTRAINT batch_segments_state_known CHECK (state IN ('waiting', 'open', 'parked', 'suspect', 'done'))`);
    await runner.query(
      `UPDATE batch_segments SET state = 'parked', available_at = now() WHERE state = 'open' AND available_at = 'infinity'`,
    );
    await runner.query(
      `CREATE INDEX batch_segments_suspect ON batch_segments (batch_number, number) WHERE state = 'suspect'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX batch_segments_suspect');
    await runner.query(`UPDATE batch_segments SET state = 'open', available_at = 'infinity' WHERE state = 'parked'`);
    await runner.query(`UPDATE batch_segments SET state = 'open', available_at = now() WHERE state = 'suspect'`);
    await runner.query(`
      ALTER TABLE batch_segments DROP CONSTRAINT batch_segments_state_known,
        ADD CONSTRAINT batch_segments_state_known CHECK (state IN ('waiting', 'open', 'done'))`);
  }
}
