import { Injectable } from '@nestjs/common';
import type { JobContract } from '@libs/contracts';
import { Database, type Session } from '../database';

export interface PendingMessage {
  readonly id: string;
  /** Wire name of the job contract. */
  readonly contract: string;
  readonly payload: object;
  readonly attempts: number;
}

/** Messages that commit together with the rows they are about, and are sent to the broker afterwards. */
@Injectable()
export class OutboxRepository {
  constructor(private readonly database: Database) {}

  /** Adds a job to the caller's own transaction. */
  async add<Payload extends object>(session: Session, contract: JobContract<Payload>, payload: Payload): Promise<void> {
    await session.execute({
      name: 'outbox-add',
      sql: 'INSERT INTO outbox (contract, payload) VALUES ($1, $2)',
      values: [contract.name, JSON.stringify(payload)],
    });
  }

  /**
   * Claims up to `limit` messages that are due, the longest waiting first, for `leaseMs`: two relays never hold the
   * same one. No transaction stays open. If the process dies they become due again at the end of the lease and are sent
   * twice, which every job handler tolerates.
   */
  async claim(limit: number, leaseMs: number): Promise<PendingMessage[]> {
    return this.database.rows<PendingMessage>({
      name: 'outbox-claim',
      sql: `
        UPDATE outbox o SET available_at = now() + $2 * interval '1 millisecond'
        FROM (SELECT id FROM outbox WHERE available_at <= now()
              ORDER BY available_at, id LIMIT $1 FOR UPDATE SKIP LOCKED) due
        WHERE o.id = due.id
        RETURNING o.id, o.contract, o.payload, o.attempts`,
      values: [limit, leaseMs],
    });
  }

  /** Deletes messages that the broker has confirmed. */
  async forget(ids: readonly string[]): Promise<void> {
    await this.database.execute({
      name: 'outbox-forget',
      sql: 'DELETE FROM outbox WHERE id = ANY($1::bigint[])',
      values: [ids],
    });
  }

  /** Makes messages due again after their delays. */
  async postpone(
    delays: readonly { readonly id: string; readonly delayMs: number; readonly isAttempt: boolean }[],
  ): Promise<void> {
    await this.database.execute({
      name: 'outbox-postpone',
      sql: `
        UPDATE outbox o SET available_at = now() + t.delay_ms * interval '1 millisecond',
                            attempts = o.attempts + t.is_attempt::integer
        FROM unnest($1::bigint[], $2::integer[], $3::boolean[]) AS t(id, delay_ms, is_attempt) WHERE o.id = t.id`,
      values: [
        delays.map(({ id }) => id),
        delays.map(({ delayMs }) => Math.round(delayMs)),
        delays.map(({ isAttempt }) => isAttempt),
      ],
    });
  }

  /** Returns the age of the oldest message, and how many (up to 1,000) failed `stuckAttempts` times or more. */
  async measure(stuckAttempts: number): Promise<{ readonly oldestSeconds: number; readonly stuck: number }> {
    const row = await this.database.firstRow<{ oldest: number; stuck: number }>({
      name: 'outbox-measure',
      sql: `
        SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - created_at) FROM outbox ORDER BY id LIMIT 1), 0)
                 ::float8 AS oldest,
               (SELECT count(*)::integer FROM (SELECT 1 FROM outbox WHERE attempts >= $1 LIMIT 1000) s) AS stuck`,
      values: [stuckAttempts],
    });
    return { oldestSeconds: row?.oldest ?? 0, stuck: row?.stuck ?? 0 };
  }
}
