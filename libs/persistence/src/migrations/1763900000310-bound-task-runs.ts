import type { MigrationInterface, QueryRunner } from 'typeorm';
import { guardTenantRows } from './tenant-policy';

/**
 * Each app sees only the runs of its own tasks, which `rights/app-rights.ts` lists. Otherwise one app could keep the
 * tasks of another from running by recording that they just ran.
 */
export class BoundTaskRuns1763900000310 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await guardTenantRows(runner, 'task_runs', { owned: 'false' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP POLICY task_runs_of_tenant ON task_runs');
    await runner.query('DROP POLICY task_runs_of_installation ON task_runs');
    await runner.query('ALTER TABLE task_runs DISABLE ROW LEVEL SECURITY');
  }
}
