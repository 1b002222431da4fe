import { Injectable } from '@nestjs/common';
import { Database } from '@libs/persistence';

/** The tables whose rows expire, and how long an expired row is kept. */
const EXPIRING = {
  // Kept for one more day, in which a used or expired code shows that a request is a replay and not a guess.
  authorization_codes: { key: 'code_hash', keptFor: '1 day' },
  consent_sessions: { key: 'session_hash', keptFor: '0' },
  // The column already includes the leeway for other clocks.
  used_token_ids: { key: 'hash', keptFor: '0' },
} as const;

export type ExpiringTable = keyof typeof EXPIRING;
export const EXPIRING_TABLES = Object.keys(EXPIRING) as ExpiringTable[];

/** Finds and deletes expired rows. */
@Injectable()
export class ExpiredRowsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the keys of the rows that expired first, except those in `exceptKeys`. */
  async findExpired(table: ExpiringTable, limit: number, exceptKeys: readonly string[] = []): Promise<string[]> {
    const { key, keptFor } = EXPIRING[table];
    const rows = await this.database.rows<{ key: string }>({
      sql: `
        SELECT ${key}::text AS key FROM ${table}
        WHERE expires_at < now() - interval '${keptFor}' AND ${key} <> ALL($2::character(64)[])
        ORDER BY expires_at LIMIT $1`,
      values: [limit, exceptKeys],
    });
    return rows.map((row) => row.key);
  }

  /** Deletes rows by their keys, in one statement. Returns how many were there. */
  async delete(table: ExpiringTable, keys: readonly string[]): Promise<number> {
    const { key } = EXPIRING[table];
    return this.database.execute({
      sql: `DELETE FROM ${table} WHERE ${key} = ANY($1::character(64)[])`,
      values: [keys],
    });
  }
}
