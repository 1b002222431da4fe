import { Injectable } from '@nestjs/common';
import { Database } from '@libs/persistence';

/** One idempotency key of one caller on one route. */
export interface IdempotencySlot {
  readonly organizationId: string;
  readonly route: string;
  /** SHA-256 of the key. */
  readonly keyHash: Buffer;
}

/** The right to execute the request, until another attempt claims it. */
export interface IdempotencyClaim {
  readonly effectId: string;
  readonly attempt: number;
}

export interface StoredRequest {
  readonly requestDigest: Buffer;
  /** The stored answer; null while there is none. */
  readonly answer: Buffer | null;
}

const KEPT = `interval '24 hours'`;
const OF_SLOT = 'organization_id = $1 AND route = $2 AND key_hash = $3';

/**
 * Stores one row per key. A single statement claims it by PostgreSQL's clock, so only one of several concurrent
 * requests gets it.
 */
@Injectable()
export class IdempotencyKeysRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns a claim for a key that is new, older than 24 hours, or whose earlier attempt with the same request ended
   * without an answer. Null for any other key; see `find`.
   */
  async claim(
    slot: IdempotencySlot,
    digest: Buffer,
    effectId: string,
    leaseMs: number,
  ): Promise<IdempotencyClaim | null> {
    const row = await this.database.asOrganization(slot).firstRow<{ effect_id: string; attempt: number }>({
      name: 'idempotency-claim',
      sql: `
        INSERT INTO idempotency_keys AS kept
               (organization_id, route, key_hash, request_digest, effect_id, lease_until)
        VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond')
        ON CONFLICT (organization_id, route, key_hash) DO UPDATE
        SET request_digest = excluded.request_digest,
            effect_id = CASE WHEN kept.created_at < now() - ${KEPT} THEN excluded.effect_id ELSE kept.effect_id END,
            created_at = CASE WHEN kept.created_at < now() - ${KEPT} THEN now() ELSE kept.created_at END,
            attempt = kept.attempt + 1, lease_until = excluded.lease_until, answer = NULL
        WHERE kept.created_at < now() - ${KEPT}
           OR (kept.answer IS NULL AND kept.lease_until < now() AND kept.request_digest = excluded.request_digest)
        RETURNING effect_id, attempt`,
      values: [...valuesOf(slot), digest, effectId, leaseMs],
    });
    return row === null ? null : { effectId: row.effect_id, attempt: row.attempt };
  }

  async find(slot: IdempotencySlot): Promise<StoredRequest | null> {
    const row = await this.database.asOrganization(slot).firstRow<{ request_digest: Buffer; answer: Buffer | null }>({
      name: 'idempotency-find',
      sql: `SELECT request_digest, answer FROM idempotency_keys WHERE ${OF_SLOT}`,
      values: valuesOf(slot),
    });
    return row === null ? null : { requestDigest: row.request_digest, answer: row.answer };
  }

  /** Keeps the answer. False when the attempt was not the latest any more. */
  async keepAnswer(slot: IdempotencySlot, { attempt }: IdempotencyClaim, answer: Buffer): Promise<boolean> {
    const touched = await this.database.asOrganization(slot).execute({
      name: 'idempotency-keep',
      sql: `UPDATE idempotency_keys SET answer = $5, lease_until = NULL
            WHERE ${OF_SLOT} AND attempt = $4 AND answer IS NULL`,
      values: [...valuesOf(slot), attempt, answer],
    });
    return touched === 1;
  }

  /** Deletes the claim of an attempt that did nothing, so the key counts as never used. */
  async forget(slot: IdempotencySlot, { attempt }: IdempotencyClaim): Promise<void> {
    await this.database.asOrganization(slot).execute({
      name: 'idempotency-forget',
      sql: `DELETE FROM idempotency_keys WHERE ${OF_SLOT} AND attempt = $4 AND answer IS NULL`,
      values: [...valuesOf(slot), attempt],
    });
  }

  /** Ends an attempt whose outcome is unknown; the same request may be retried at once. */
  async endAttempt(slot: IdempotencySlot, { attempt }: IdempotencyClaim): Promise<void> {
    await this.database.asOrganization(slot).execute({
      name: 'idempotency-end-attempt',
      sql: `UPDATE idempotency_keys SET lease_until = now() - interval '1 microsecond'
            WHERE ${OF_SLOT} AND attempt = $4 AND answer IS NULL`,
      values: [...valuesOf(slot), attempt],
    });
  }

  /** Deletes at most `limit` keys that are older than 24 hours; how many. */
  async purge(limit: number): Promise<number> {
    return this.database.execute({
      name: 'idempotency-purge',
      sql: `DELETE FROM idempotency_keys WHERE (organization_id, route, key_hash) IN (
              SELECT organization_id, route, key_hash FROM idempotency_keys
              WHERE created_at < now() - ${KEPT} ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
      values: [limit],
    });
  }
}

function valuesOf({ organizationId, route, keyHash }: IdempotencySlot): [string, string, Buffer] {
  return [organizationId, route, keyHash];
}
