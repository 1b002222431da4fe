import type { MigrationInterface, QueryRunner } from 'typeorm';

const MOST_PURGED = 500;

/**
 * Deletes ended webhooks, for the app that sends them. With the right to delete, an app under an attacker's control
 * could create an old webhook again. The function also checks when the webhook was created, which no app can change.
 */
export class PurgedWebhooks1763900000300 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ pinned }] = (await runner.query(
      `SELECT format('SET search_path = %I, pg_temp', current_schema()) AS pinned`,
    )) as [{ pinned: string }];
    await runner.query(`
      CREATE FUNCTION purge_webhook_deliveries(kept_days integer) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER ${pinned} AS $$
      DECLARE
        purged bigint;
      BEGIN
        IF kept_days IS NULL OR kept_days < 1 THEN
          RAISE invalid_parameter_value USING MESSAGE = 'webhooks are kept for a day at least';
        END IF;
        DELETE FROM webhook_deliveries WHERE id IN (
          SELECT id FROM webhook_deliveries
          WHERE (delivered_at IS NOT NULL OR given_up_at IS NOT NULL)
            AND coalesce(delivered_at, given_up_at) < now() - kept_days * interval '1 day'
            AND created_at < now() - kept_days * interval '1 day'
          ORDER BY coalesce(delivered_at, given_up_at) LIMIT ${MOST_PURGED} FOR UPDATE SKIP LOCKED
        );
        GET DIAGNOSTICS purged = ROW_COUNT;
        RETURN purged;
      END $$`);
    await runner.query('REVOKE ALL ON FUNCTION purge_webhook_deliveries(integer) FROM PUBLIC');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION purge_webhook_deliveries(integer)');
  }
}
