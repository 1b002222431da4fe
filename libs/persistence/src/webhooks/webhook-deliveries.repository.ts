import { Injectable } from '@nestjs/common';
import { DeliverWebhook } from '@libs/contracts';
import { Database, type Session } from '../database';
import { OutboxRepository } from '../outbox/outbox.repository';
import { CLAIM, OWED_SINCE, PENDING } from './webhook-claim';
import type {
  AttemptResult,
  ClaimBounds,
  ClaimedWebhook,
  NewWebhookDelivery,
  WebhookFilter,
  WebhookLease,
  WebhookReport,
} from './webhook-delivery';

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
  deaths: number;
  is_by_hand: boolean;
  owed_for_ms: number;
}

const MOST_HELD_BACK = 1_000;

/**
 * Events to send to receivers. An event is stored in the transaction that it reports, so it is sent exactly if that
 * commits; its id is its key, so announcing it twice stores it once. It is sent at least once: an attempt is claimed
 * with a lease and a fence, by the database's clock, and if the worker dies the row is claimed again with the same id.
 * An attempt counts once its outcome is known; claims without an outcome are counted separately.
 */
@Injectable()
export class WebhookDeliveriesRepository {
  constructor(
    private readonly database: Database,
    private readonly outbox: OutboxRepository,
  ) {}

  /**
   * Stores an event for its receiver, in the transaction of the change that it reports.
   *
   * @returns false if it was stored before
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
   * Claims deliveries that are due, fairly. Neither a host nor an organization gets more than there is room for, so a
   * receiver with a thousand waiting events, or a customer with a thousand receivers that never answer, does not delay
   * others. Those with the fewest running deliveries come first.
   */
  async claim({ limit, leaseMs, exceptIds = [], ...most }: ClaimBounds): Promise<ClaimedWebhook[]> {
    const rows = await this.database.rows<ClaimRow>({
      name: 'webhooks-claim',
      sql: CLAIM,
      values: [limit, most.perHost, most.perOrganization, most.perOrganizationAtHost, leaseMs, exceptIds],
    });
    return rows.map(toClaimed);
  }

  async markDelivered(lease: WebhookLease, status: number): Promise<boolean> {
    return this.end(lease, 'delivered_at = now(), attempts = attempts + 1', { status, error: null });
  }

  async giveUp(lease: WebhookLease, result: AttemptResult): Promise<boolean> {
    return this.end(lease, 'given_up_at = now(), attempts = attempts + 1', result);
  }

  /** Gives the event up without an attempt. */
  async giveUpUntried(lease: WebhookLease, error: string): Promise<boolean> {
    return this.end(lease, 'given_up_at = now()', { status: null, error });
  }

  /** Records a failed attempt; the next one is due in `delayMs`. */
  async postpone(lease: WebhookLease, result: AttemptResult, delayMs: number): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'webhook-postpone',
      sql: `
        UPDATE webhook_deliveries
        SET next_attempt_at = now() + $5 * interval '1 millisecond', lease_until = NULL, attempts = attempts + 1,
            unfinished = 0, last_status = $3, last_error = $4
        WHERE id = $1 AND fence = $2 AND ${PENDING}`,
      values: [lease.id, lease.fence, result.status, result.error, delayMs],
    });
    return touched === 1;
  }

  /** Gives a delivery back as if it had not been tried, to be claimed after `delayMs`. */
  async release(lease: WebhookLease, delayMs: number): Promise<void> {
    await this.database.execute({
      name: 'webhook-release',
      sql: `
        UPDATE webhook_deliveries
        SET next_attempt_at = now() + $3 * interval '1 millisecond', lease_until = NULL, unfinished = 0,
            fence = fence + 1
        WHERE id = $1 AND fence = $2 AND ${PENDING}`,
      values: [lease.id, lease.fence, delayMs],
    });
  }

  /**
   * Gives a delivery back as if it had not been tried, to be claimed after `delayMs`, and delays everything else that
   * its organization has due at its URL. Exceptions: events that the operator sent again, and events older than
   * `lifetimeMs`, which must end.
   * @returns how many deliveries wait now
   */
  async holdBack(
    lease: WebhookLease,
    { delayMs, lifetimeMs }: { readonly delayMs: number; readonly lifetimeMs: number },
  ): Promise<number> {
    return this.database.execute({
      name: 'webhooks-hold-back',
      sql: `
        WITH held AS (
          SELECT w.id, w.organization_id, w.host, w.url FROM webhook_deliveries w WHERE id = $1 AND fence = $2 AND ${PENDING}
        ), others AS (
          SELECT w.id FROM held h JOIN webhook_deliveries w USING (organization_id, host, url)
          WHERE ${PENDING} AND w.next_attempt_at <= now()
            AND w.lease_until IS NULL AND (w.redelivered_at IS NULL OR w.attempts > 0)
            AND ${OWED_SINCE} > now() - $4 * interval '1 millisecond'
          ORDER BY w.next_attempt_at LIMIT ${MOST_HELD_BACK} FOR UPDATE OF w SKIP LOCKED
        )
        UPDATE webhook_deliveries w
        SET next_attempt_at = now() + $3 * interval '1 millisecond', lease_until = NULL,
            unfinished = CASE WHEN w.id = $1 THEN 0 ELSE w.unfinished END, fence = w.fence + (w.id = $1)::integer
        FROM (SELECT id FROM held UNION ALL SELECT id FROM others) put_off
        WHERE w.id = put_off.id AND (w.id <> $1 OR w.fence = $2) AND ${PENDING}`,
      values: [lease.id, lease.fence, delayMs, lifetimeMs],
    });
  }

  /**
   * Deletes a part of the events that ended more than this many whole days ago; any number of processes may do so at
   * once.
   * @returns how many rows were deleted
   */
  async purgeEnded(days: number): Promise<number> {
    const row = await this.database.firstRow<{ count: string }>({
      name: 'webhooks-purge',
      sql: 'SELECT purge_webhook_deliveries($1) AS count',
      values: [days],
    });
    return Number(row?.count ?? 0);
  }

  /** The newest first. */
  async list({ state, workspaceId, limit }: WebhookFilter): Promise<WebhookReport[]> {
    return this.database.rows<WebhookReport>({
      name: 'webhooks-list',
      sql: `
        SELECT * FROM (
          SELECT id, workspace_id AS "workspaceId", type, host, attempts, created_at AS "createdAt",
            next_attempt_at AS "nextAttemptAt", last_status AS "lastStatus", last_error AS "lastError",
            CASE WHEN delivered_at IS NOT NULL THEN 'delivered' WHEN given_up_at IS NOT NULL THEN 'given up'
              ELSE 'pending' END AS state
          FROM webhook_deliveries WHERE $2::uuid IS NULL OR workspace_id = $2
        ) w WHERE $1::text IS NULL OR state = $1 ORDER BY "createdAt" DESC, id LIMIT $3`,
      values: [state, workspaceId, limit],
    });
  }

  /** Makes an event due again, in any state, with the same id and with all attempts left. False if unknown. */
  async redeliver(id: string): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const touched = await session.execute({
        sql: `
          UPDATE webhook_deliveries
          SET attempts = 0, unfinished = 0, next_attempt_at = now(), redelivered_at = now(), lease_until = NULL, fence = fence + 1,
              delivered_at = NULL, given_up_at = NULL
          WHERE id = $1`,
        values: [id],
      });
      if (touched === 1) await this.outbox.add(session, DeliverWebhook, { deliveryId: id });
      return touched === 1;
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
    deaths: row.deaths,
    isByHand: row.is_by_hand,
    owedForMs: row.owed_for_ms,
  };
}
