import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TENANT_ROLE } from '../tenants/tenant';

/** The audit trail stores the request id that a caller chose, in addition to our own, which no caller can choose. */
export class ClientRequestIds1763900000217 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries ADD client_request_id text');
    await runner.query(
      `GRANT SELECT (client_request_id), INSERT (client_request_id) ON audit_entries TO ${TENANT_ROLE}`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries DROP client_request_id');
  }
}
