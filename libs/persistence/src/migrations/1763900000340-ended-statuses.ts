import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The column that ends a job. */
const ENDS = { batches: 'finalized_at', videos: 'finished_at' } as const;

/**
 * An ended job also keeps its status. A worker may create a webhook for the status of an ended job; an attacker in a
 * worker who changed the status could create another one, and would be given the secret that signs it.
 */
export class EndedStatuses1763900000340 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [table, ended] of Object.entries(ENDS)) await replaceTrigger(runner, table, [ended, 'status']);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [table, ended] of Object.entries(ENDS)) await replaceTrigger(runner, table, [ended]);
  }
}

async function replaceTrigger(runner: QueryRunner, table: string, kept: readonly [string, ...string[]]): Promise<void> {
  const changes = kept.map((column) => `NEW.${column} IS DISTINCT FROM OLD.${column}`).join(' OR ');
  await runner.query(`
    CREATE OR REPLACE TRIGGER ${table}_stay_over BEFORE UPDATE OF ${kept.join(', ')} ON ${table}
    FOR EACH ROW WHEN (OLD.${kept[0]} IS NOT NULL AND (${changes})) EXECUTE FUNCTION keep_over()`);
}
