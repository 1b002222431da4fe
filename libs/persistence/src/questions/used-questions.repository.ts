import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../database';

/**
 * Questions of which a second copy must not be handled, in the table of the token ids that are good for one use. One
 * statement decides, so of many copies at once, in many processes, one wins.
 */
@Injectable()
export class UsedQuestionsRepository {
  constructor(private readonly database: Database) {}

  /** Returns false for a question that was claimed before. @param untilMs from when on nobody accepts it anyway */
  async claim(asker: string, id: string, untilMs: number): Promise<boolean> {
    const rows = await this.database.execute({
      name: 'claim-question',
      sql: `INSERT INTO used_token_ids (hash, expires_at) VALUES ($1, to_timestamp($2::float8 / 1000))
            ON CONFLICT (hash) DO NOTHING`,
      values: [hash('sha256', JSON.stringify(['question', asker, id]), 'hex'), untilMs],
    });
    return rows === 1;
  }
}
