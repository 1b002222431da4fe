import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Requests and responses of calls, for workspaces whose operator stores them. Rows are deleted on the day they are due
 * instead of with a week's partition, because the retention time of contents is exact to the day.
 */
export class GenerationContents1763700000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE generation_contents (
        created_on date NOT NULL,
        generation_id text NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid NOT NULL,
        input json NOT NULL,
        output json NOT NULL,
        error json,
        CONSTRAINT generation_contents_pkey PRIMARY KEY (created_on, generation_id)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE generation_contents');
  }
}
