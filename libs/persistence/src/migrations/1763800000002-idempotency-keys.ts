import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Requests that may be repeated with an idempotency key: a digest of the request, and the answer. */
export class IdempotencyKeys1763800000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE idempotency_keys (
        organization_id uuid NOT NULL,
        route text NOT NULL,
        key_hash bytea NOT NULL,
        request_digest bytea NOT NULL,
        effect_id uuid NOT NULL,
        attempt integer NOT NULL DEFAULT 1,
        lease_until timestamptz,
        answer bytea,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT idempotency_keys_pkey PRIMARY KEY (organization_id, route, key_hash),
        CONSTRAINT idempotency_keys_hash_length CHECK (octet_length(key_hash) = 32 AND octet_length(request_digest) = 32)
      )`);
    await runner.query('CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_keys');
  }
}
