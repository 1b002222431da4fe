import { Injectable } from '@nestjs/common';
import { DeliverWebhook } from '@libs/contracts';
import { Database, type Session } from '../database';
import { OutboxRepository } from '../outbox/outbox.repository';

/** An event that is owed to the receiver at `url`. */
export interface NewWebhookDelivery {
  /** The same however often the event is announced: `<id of what ended>-<its status>`. At most 200 characters. */
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** An https URL that was accepted at the door; delivery judges it again. */
  readonly url: string;
  /** Such as `batch.completed`. */
  readonly type: string;
  /** What stands in the event's `data`. */
  readonly payload: object;
}

/** A lease on a delivery: whoever holds the highest fence may say how the attempt ended. */
export interface WebhookLease {
  readonly id: string;
  readonly fence: bigint;
}

export interface ClaimedWebhook extends WebhookLease {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly url: string;
  readonly type: string;
  /** JSON text of the event's `data`, as it was stored. */
  readonly payload: string;
  readonly createdAt: Date;
  /** Attempts so far, the claimed one included. */
  readonly attempts: number;
}

/** How an attempt ended. */
export interface AttemptResult {
  /** HTTP status of the answer; null where there was none. */
  readonly status: number | null;
  /** In words that name nothing of the URL; null for a delivery. */
  readonly error: string | null;
}

export interface ClaimBounds {
  /** At most so many deliveries. */
  readonly limit: number;
  /** At most so many of one host under way, those of other workers included. */
  readonly perHost: number;
  /** Longer than an attempt can take: leases are not renewed. */
  readonly leaseMs: number;
}

interface ClaimRow {
  id: string;
  fence: string;
  organization_id: string;
  workspace_id: string;
  url: string;
  type: string;
  payload: string;
  created_at: Date;
  attempts: number;
}

const PENDING = 'delivered_at IS NULL AND given_up_at IS NULL';
const MOST_PURGED = 500;

/**
 * Events on their way to receivers. An event is stored in the transaction that makes it true, so it is owed
 * exactly when it happened; its id is its key, so announcing it twice stores it once. From there on it is sent at
 * least once: an attempt is claimed with a lease and a fence, by the database's clock, and whoever dies in one
 * leaves a row that is claimed again under the same id.
 */
@Injectable()
export class WebhookDeliveriesRepository {
  constructor(
    private readonly database: Database,
    private readonly outbox: OutboxRepository,
  ) {}

  /**
   * Owes the event to its receiver, in the caller's own transaction: the one that makes the event true.
   *
   * @returns false when it was owed already
   */
  async enqueue(session: Session, delivery: NewWebhookDelivery): Promise<boolean> {
    const { id, organizationId, workspaceId, url, type, payload } = delivery;
    const inserted = await session.execute({
      name: 'webhook-enqueue',
      sql: `
        INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`,
      values: [id, organizationId, workspaceId, url, URL.parse(url)?.host ?? '', type, JSON.stringify(payload)],
    });
    if (inserted === 1) await this.outbox.add(session, DeliverWebhook, { deliveryId: id });
    return inserted === 1;
  }

  /**
   * Takes deliveries that are due, fairly: of each host only as many as there is room for, so a receiver with a
   * thousand events waiting takes no place from one with a single event. Hosts are walked along the index, not by
   * reading every row that waits.
   */
  async claim({ limit, perHost, leaseMs }: ClaimBounds): Promise<ClaimedWebhook[]> {
    const rows = await this.database.rows<ClaimRow>({
      name: 'webhooks-claim',
      sql: `
        WITH RECURSIVE hosts AS (
          SELECT min(host) AS host FROM webhook_deliveries WHERE ${PENDING}
          UNION ALL
          SELECT (SELECT min(w.host) FROM webhook_deliveries w WHERE ${PENDING} AND w.host > h.host)
          FROM hosts h WHERE h.host IS NOT NULL
        ), picked AS (
          SELECT due.id FROM hosts h CROSS JOIN LATERAL (
            SELECT w.id, w.next_attempt_at FROM webhook_deliveries w
            WHERE ${PENDING} AND w.host = h.host AND w.next_attempt_at <= now()
              AND (w.lease_until IS NULL OR w.lease_until < now())
            ORDER BY w.next_attempt_at
            LIMIT greatest(0, $2::integer - (SELECT count(*) FROM webhook_deliveries b
              WHERE ${PENDING} AND b.host = h.host AND b.lease_until >= now()))
            FOR UPDATE SKIP LOCKED
          ) due ORDER BY due.next_attempt_at LIMIT $1
        )
        UPDATE webhook_deliveries w
        SET lease_until = now() + $3 * interval '1 millisecond', fence = w.fence + 1, attempts = w.attempts + 1,
            last_attempt_at = now()
        FROM picked p WHERE w.id = p.id
        RETURNING w.id, w.fence, w.organization_id, w.workspace_id, w.url, w.type, w.payload::text AS payload,
                  w.created_at, w.attempts`,
      values: [limit, perHost, leaseMs],
    });
    return rows.map(toClaimed);
  }

  async markDelivered(lease: WebhookLease, status: number): Promise<boolean> {
    return this.end(lease, 'delivered_at = now()', { status, error: null });
  }

  async giveUp(lease: WebhookLease, result: AttemptResult): Promise<boolean> {
    return this.end(lease, 'given_up_at = now()', result);
  }

  /** The attempt came to nothing; there will be another one in `delayMs`. */
  async postpone(lease: WebhookLease, result: AttemptResult, delayMs: number): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'webhook-postpone',
      sql: `
        UPDATE webhook_deliveries
        SET next_attempt_at = now() + $5 * interval '1 millisecond', lease_until = NULL, last_status = $3, last_error = $4
        WHERE id = $1 AND fence = $2 AND ${PENDING}`,
      values: [lease.id, lease.fence, result.status, result.error, delayMs],
    });
    return touched === 1;
  }

  /** Gives deliveries back as if they had not been tried: what a draining worker does with what it has not sent. */
  async release(leases: readonly WebhookLease[]): Promise<void> {
    await this.database.execute({
      name: 'webhooks-release',
      sql: `
        UPDATE webhook_deliveries w
        SET lease_until = NULL, attempts = greatest(0, w.attempts - 1), fence = w.fence + 1
        FROM unnest($1::text[], $2::bigint[]) AS held(id, fence)
        WHERE w.id = held.id AND w.fence = held.fence AND ${PENDING}`,
      values: [leases.map(({ id }) => id), leases.map(({ fence }) => fence)],
    });
  }

  /**
   * Deletes a part of what ended longer ago than so many whole days; any number of processes may do so at once.
   *
   * @returns how many rows went
   */
  async purgeEnded(days: number): Promise<number> {
    return this.database.execute({
      name: 'webhooks-purge',
      sql: `
        DELETE FROM webhook_deliveries WHERE id IN (
          SELECT id FROM webhook_deliveries
          WHERE (delivered_at IS NOT NULL OR given_up_at IS NOT NULL)
            AND coalesce(delivered_at, given_up_at) < now() - $1 * interval '1 day'
          ORDER BY coalesce(delivered_at, given_up_at) LIMIT ${MOST_PURGED} FOR UPDATE SKIP LOCKED
        )`,
      values: [days],
    });
  }

  async countPending(): Promise<number> {
    const row = await this.database.firstRow<{ count: number }>({
      name: 'webhooks-count-pending',
      sql: `SELECT count(*)::integer AS count FROM webhook_deliveries WHERE ${PENDING}`,
    });
    return row?.count ?? 0;
  }

  private async end(lease: WebhookLease, change: string, { status, error }: AttemptResult): Promise<boolean> {
    const touched = await this.database.execute({
      sql: `
        UPDATE webhook_deliveries SET ${change}, lease_until = NULL, last_status = $3, last_error = $4
        WHERE id = $1 AND fence = $2 AND ${PENDING}`,
      values: [lease.id, lease.fence, status, error],
    });
    return touched === 1;
  }
}

function toClaimed(row: ClaimRow): ClaimedWebhook {
  return {
    id: row.id,
    fence: BigInt(row.fence),
    organizationId: row.organization_id,
    workspaceId: row.workspace_id,
    url: row.url,
    type: row.type,
    payload: row.payload,
    createdAt: row.created_at,
    attempts: row.attempts,
  };
}
