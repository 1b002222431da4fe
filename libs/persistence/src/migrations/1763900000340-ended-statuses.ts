import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The column that ends a job. */
const ENDS = { batches: 'finalized_at', videos: 'finished_at' } as const;

/**
 * A job that is over keeps its status too. The rights of a worker let it owe a webhook for what a job that is over
 * became; an attacker in a worker who changed that could owe another one, and be given the secret that signs it.
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
