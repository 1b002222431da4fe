import { Injectable } from '@nestjs/common';
import type { JobContract } from '@libs/contracts';
import { Database, type Session } from '../database';

export interface PendingMessage {
  readonly id: string;
  /** Wire name of the job contract. */
  readonly contract: string;
  readonly payload: object;
}

/** Messages that commit with the rows they speak of, and leave for the broker afterwards. */
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
   * Hands up to `limit` of the oldest messages to `publish` and deletes those whose ids it returns as
   * confirmed. The rows stay locked meanwhile, so two relays never publish the same message; if the
   * process dies in between they are published again, which a job handler must be able to meet.
   *
   * @returns how many messages were pending
   */
  async relayPending(
    limit: number,
    publish: (messages: readonly PendingMessage[]) => Promise<ReadonlySet<string>>,
  ): Promise<number> {
    return this.database.transaction(async (session) => {
      const pending = await session.rows<{ id: string; contract: string; payload: object }>({
        name: 'outbox-pending',
        sql: 'SELECT id, contract, payload FROM outbox ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED',
        values: [limit],
      });
      if (pending.length === 0) return 0;
      const confirmed = await publish(pending);
      await session.execute({
        name: 'outbox-delete',
        sql: 'DELETE FROM outbox WHERE id = ANY($1::bigint[])',
        values: [[...confirmed]],
      });
      return pending.length;
    });
  }
}
