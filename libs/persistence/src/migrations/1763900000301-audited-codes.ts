import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TENANT_ROLE } from '../tenants/tenant';

/**
 * The exchange of a code for a key is written to the audit trail with its outcome, in the transaction that creates the
 * key.
 */
export class AuditedCodes1763900000301 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`GRANT INSERT (status) ON audit_entries TO ${TENANT_ROLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`REVOKE INSERT (status) ON audit_entries FROM ${TENANT_ROLE}`);
  }
}
