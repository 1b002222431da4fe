import { Injectable } from '@nestjs/common';
import { Database } from '@libs/persistence';

/** What runs out, and for how long it is kept after that. */
const EXPIRING = {
  // A code that was used or has run out tells a replay from a guess for one more day.
  authorization_codes: { key: 'code_hash', keptFor: '1 day' },
  consent_sessions: { key: 'session_hash', keptFor: '0' },
  // The end of the token and the leeway for other clocks are within the column.
  used_token_ids: { key: 'hash', keptFor: '0' },
} as const;

export type ExpiringTable = keyof typeof EXPIRING;
export const EXPIRING_TABLES = Object.keys(EXPIRING) as ExpiringTable[];

/** Rows that nobody will ask for again. */
@Injectable()
export class ExpiredRowsRepository {
  constructor(private readonly database: Database) {}

  /** Deletes the oldest of them, so many at most; those that another process deletes are passed over. */
  async deleteExpired(table: ExpiringTable, limit: number): Promise<number> {
    const { key, keptFor } = EXPIRING[table];
    return this.database.execute({
      sql: `
        DELETE FROM ${table} WHERE ${key} IN (
          SELECT ${key} FROM ${table} WHERE expires_at < now() - interval '${keptFor}'
          ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
      values: [limit],
    });
  }
}
