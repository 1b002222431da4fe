import { sqlStateOf, type Database } from './database';
import type { WorkspaceTenant } from './tenants/tenant';

/** A submission that its caller may repeat: the same key with the same body means the same batch or video. */
export interface SubmissionKey {
  readonly key: string;
  /** SHA-256 of the body, hex. */
  readonly requestHash: string;
}

/** The idempotency key belongs to an earlier submission; the transaction that found out must be rolled back. */
export class SubmittedBefore extends Error {
  override readonly name = 'SubmittedBefore';
}

const UNIQUE_VIOLATION = '23505';

/** Rows that store the idempotency key of their submission; a unique index guards it. */
export abstract class SubmittedRows {
  constructor(
    protected readonly database: Database,
    private readonly table: 'batches' | 'videos',
  ) {}

  /** Returns what the workspace submitted with this key within the last 24 hours. */
  async findSubmitted(
    tenant: WorkspaceTenant,
    idempotencyKey: string,
  ): Promise<{ id: string; requestHash: string } | null> {
    const row = await this.database.asTenant(tenant).firstRow<{ id: string; request_hash: string }>({
      name: `${this.table}-submitted-before`,
      sql: `SELECT id, request_hash FROM ${this.table} WHERE workspace_id = $1 AND idempotency_key = $2`,
      values: [tenant.workspaceId, idempotencyKey],
    });
    return row === null ? null : { id: row.id, requestHash: row.request_hash };
  }

  /** Deletes idempotency keys after their 24 hours, at most a thousand. Returns how many. */
  async forgetOldKeys(): Promise<number> {
    return this.database.execute({
      sql: `UPDATE ${this.table} SET idempotency_key = NULL, request_hash = NULL
            WHERE id IN (
              SELECT id FROM ${this.table} WHERE idempotency_key IS NOT NULL AND created_at < now() - interval '24 hours'
              ORDER BY created_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
    });
  }

  /** Returns SubmittedBefore if the index refused the key, else the error. */
  protected refusalOf(error: unknown): unknown {
    const isTaken =
      sqlStateOf(error) === UNIQUE_VIOLATION &&
      (error as { constraint?: string }).constraint === `${this.table}_idempotency_key`;
    return isTaken ? new SubmittedBefore() : error;
  }
}
