import { Injectable } from '@nestjs/common';
import { Database, type Session } from '../database';
import type { AuditEntryEntity } from './audit-entry.entity';

type Act = Pick<AuditEntryEntity, 'organizationId' | 'action' | 'target' | 'requestId'>;

export interface NewAuditEntry extends Act {
  readonly keyId: string;
  readonly clientRequestId?: string | null;
}

export interface OperatorAuditEntry extends Act {
  readonly operator: string;
}

/** Members left out match every entry. */
export interface AuditFilter {
  /** Times in ISO 8601: the first one included and the first one excluded. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly keyId?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  /** Id of the last entry of the page before. */
  readonly cursor?: string | undefined;
}

export interface BegunAuditEntry {
  readonly organizationId: string;
  readonly id: string;
}

const DONE = 200;

type RunStatement = (sql: string, values: unknown[]) => Promise<unknown>;

/**
 * The audit trail: actions with management keys and authorization codes, and those of operators at the command line.
 */
@Injectable()
export class AuditRepository {
  constructor(private readonly database: Database) {}

  /** Writes the entry before the call does anything: if it cannot be written, the call fails. */
  async beginEntry(entry: NewAuditEntry): Promise<BegunAuditEntry> {
    const { organizationId, keyId, action, target, requestId, clientRequestId = null } = entry;
    const row = await this.database.asOrganization({ organizationId }).firstRow<{ id: string }>({
      name: 'begin-audit-entry',
      sql: `INSERT INTO audit_entries (organization_id, key_id, action, target, request_id, client_request_id)
            VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
      values: [organizationId, keyId, action, target, requestId, clientRequestId],
    });
    return { organizationId, id: row!.id };
  }

  /**
   * Adds an action of a caller without a management key; it commits together with its entry.
   * @param run runs one statement
   */
  async addEntryWithin(run: RunStatement, entry: NewAuditEntry, status: number): Promise<void> {
    const { organizationId, keyId, action, target, requestId, clientRequestId = null } = entry;
    await run(
      `INSERT INTO audit_entries (organization_id, key_id, action, target, request_id, client_request_id, status)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [organizationId, keyId, action, target, requestId, clientRequestId, status],
    );
  }

  /**
   * Returns entries of the organization, newest first. The id of another organization's entry is not a valid cursor:
   * the page is empty.
   */
  async findEntries(organizationId: string, filter: AuditFilter, limit: number): Promise<AuditEntryEntity[]> {
    const { from, to, keyId, action, target, cursor } = filter;
    return this.database.asOrganization({ organizationId }).rows<AuditEntryEntity>({
      name: 'find-audit-entries',
      sql: `SELECT id::text, at, organization_id AS "organizationId", key_id AS "keyId", operator, action, target,
                   request_id AS "requestId", client_request_id AS "clientRequestId", status
            FROM audit_entries
            WHERE organization_id = $1 AND ($2::timestamptz IS NULL OR at >= $2) AND ($3::timestamptz IS NULL OR at < $3)
              AND ($4::uuid IS NULL OR key_id = $4) AND ($5::text IS NULL OR action = $5)
              AND ($6::text IS NULL OR target = $6)
              AND ($7::bigint IS NULL OR (at, id) < (
                SELECT c.at, c.id FROM audit_entries c WHERE c.id = $7 AND c.organization_id = $1))
            ORDER BY at DESC, audit_entries.id DESC LIMIT $8`,
      values: [
        organizationId,
        from ?? null,
        to ?? null,
        keyId ?? null,
        action ?? null,
        target ?? null,
        cursor ?? null,
        limit,
      ],
    });
  }

  /** Adds an action that commits together with its entry: everything in the trail has been done. */
  async addOperatorEntry(session: Session, entry: OperatorAuditEntry): Promise<void> {
    const { organizationId, operator, action, target, requestId } = entry;
    await session.execute({
      sql: `INSERT INTO audit_entries (organization_id, operator, action, target, request_id, status)
            VALUES ($1, $2, $3, $4, $5, $6)`,
      values: [organizationId, operator, action, target, requestId, DONE],
    });
  }

  /**
   * Deletes the oldest entries above this age in days. The database refuses to delete entries of the last ninety days.
   */
  async deleteOlderThan(days: number, limit: number): Promise<number> {
    return this.database.execute({
      sql: `DELETE FROM audit_entries WHERE id IN (
              SELECT id FROM (SELECT id, at FROM audit_entries ORDER BY id LIMIT $2) oldest
              WHERE at < now() - make_interval(days => $1))`,
      values: [days, limit],
    });
  }

  /**
   * Sets the outcome of an entry, once: a later outcome is ignored.
   * @param created the id of what the action created: its target, if the entry has none
   */
  async endEntry({ organizationId, id }: BegunAuditEntry, status: number, created?: string): Promise<void> {
    await this.database.asOrganization({ organizationId }).execute({
      name: 'end-audit-entry',
      sql: `UPDATE audit_entries SET status = $2, target = coalesce(target, $3) WHERE id = $1 AND status IS NULL`,
      values: [id, status, created ?? null],
    });
  }
}
