import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TENANT_ROLE } from '../tenants/tenant';

const COLUMNS = 'at, organization_id, key_id, operator, action, target, request_id';

/** Lets a tenant read the entries of its own organization; the policy of the rows already exists. */
export class ReadableAudit1763900000210 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`GRANT SELECT (${COLUMNS}) ON audit_entries TO ${TENANT_ROLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`REVOKE SELECT (${COLUMNS}) ON audit_entries FROM ${TENANT_ROLE}`);
  }
}
