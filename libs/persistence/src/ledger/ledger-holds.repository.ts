import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { AuditRepository, type OperatorAuditEntry } from '../audit/audit.repository';
import { Database, type Session } from '../database';
import { LedgerRepository } from './ledger.repository';

/** An open hold that nothing will resolve. Amounts are exact decimal strings in US dollars. */
export interface OrphanHold {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly amountUsd: string;
  /** Amount charged on it so far; releasing the hold charges this and returns the rest. */
  readonly settledUsd: string;
  readonly expiresAt: Date;
  /** Status of the batch or video for which it was opened; null if there is no such row. */
  readonly owner: string | null;
}

export interface HoldRelease extends Pick<OperatorAuditEntry, 'operator' | 'requestId'> {
  readonly reason: string;
}

interface HoldRow extends Omit<OrphanHold, 'expiresAt'> {
  readonly expiresAt: Date;
  readonly state: 'open' | 'resolved';
  readonly isExpired: boolean;
  readonly isOwned: boolean;
}

/**
 * Batches and videos resolve their holds in the transaction that ends them, so one that is over will not resolve any.
 */
const OWNED = `
  SELECT h.id, substr(h.account_id, 5) AS "organizationId", h.workspace_id AS "workspaceId",
         h.amount_usd::text AS "amountUsd", h.settled_usd::text AS "settledUsd", h.expires_at AS "expiresAt", h.state,
         coalesce(b.status, v.status) AS owner, h.expires_at < now() AS "isExpired",
         (b.id IS NOT NULL AND b.finalized_at IS NULL) OR (v.id IS NOT NULL AND v.finished_at IS NULL) AS "isOwned"
  FROM ledger_holds h LEFT JOIN batches b ON b.id = h.id LEFT JOIN videos v ON v.id = h.id`;
const ORPHANS = `h.state = 'open' AND h.expires_at < now()
  AND (b.id IS NULL OR b.finalized_at IS NOT NULL) AND (v.id IS NULL OR v.finished_at IS NOT NULL)`;

/** Expired holds whose batch or video is over or does not exist. Only an operator releases them. */
@Injectable()
export class LedgerHoldsRepository {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerRepository,
    private readonly audit: AuditRepository,
  ) {}

  /** Returns the oldest of them. */
  async findOrphans(limit: number): Promise<OrphanHold[]> {
    return this.database.rows<HoldRow>({
      name: 'ledger-orphan-holds',
      sql: `${OWNED} WHERE ${ORPHANS} ORDER BY h.expires_at, h.id LIMIT $1`,
      values: [limit],
    });
  }

  /** Returns how many there are, at most 1,000. */
  async countOrphans(): Promise<number> {
    const row = await this.database.firstRow<{ count: number }>({
      name: 'ledger-count-orphan-holds',
      sql: `SELECT count(*)::integer AS count FROM (${OWNED} WHERE ${ORPHANS} LIMIT 1000) orphans`,
    });
    return row?.count ?? 0;
  }

  /**
   * Resolves a hold: the charged amount reaches the balance, the rest is returned. The audit entry commits with it.
   * @returns false for a hold that is already resolved, without an entry
   * @throws AppError not_found; conflict while its batch or video is not over, or it has not expired
   */
  async release(id: string, release: HoldRelease): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const hold = await lock(session, id);
      if (hold === null) throw new AppError('not_found', `There is no hold ${id}`);
      if (hold.state === 'resolved') return false;
      if (hold.isOwned) throw new AppError('conflict', `${id} is ${hold.owner}; its hold is resolved when it ends`);
      if (!hold.isExpired) {
        throw new AppError('conflict', `The hold of ${id} may be used until ${hold.expiresAt.toISOString()}`);
      }
      await this.ledger.resolveHold(session, id);
      const { operator, requestId, reason } = release;
      const { organizationId } = hold;
      const [action, target] = ['sluice ledger release-hold', `${id}: ${reason}`];
      await this.audit.addOperatorEntry(session, { organizationId, operator, action, target, requestId });
      return true;
    });
  }
}

function lock(session: Session, id: string): Promise<HoldRow | null> {
  return session.firstRow<HoldRow>({ sql: `${OWNED} WHERE h.id = $1 FOR UPDATE OF h`, values: [id] });
}
