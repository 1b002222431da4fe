import { Injectable } from '@nestjs/common';
import { Database } from '@libs/persistence';

/** Sessions of the consent page. */
@Injectable()
export class ConsentSessionsRepository {
  constructor(private readonly database: Database) {}

  async insertSession(sessionHash: string, keyHash: string, lifetimeSeconds: number): Promise<void> {
    await this.database.execute({
      sql: `
        INSERT INTO consent_sessions (session_hash, key_hash, expires_at)
        VALUES ($1, $2, now() + make_interval(secs => $3))`,
      values: [sessionHash, keyHash, lifetimeSeconds],
    });
  }

  /** The key that a session was opened with, by the clock of the database. */
  async findKeyHash(sessionHash: string): Promise<string | null> {
    const session = await this.database.firstRow<{ keyHash: string }>({
      sql: 'SELECT key_hash AS "keyHash" FROM consent_sessions WHERE session_hash = $1 AND expires_at > now()',
      values: [sessionHash],
    });
    return session?.keyHash ?? null;
  }

  async deleteSession(sessionHash: string): Promise<void> {
    await this.database.execute({
      sql: 'DELETE FROM consent_sessions WHERE session_hash = $1',
      values: [sessionHash],
    });
  }
}
