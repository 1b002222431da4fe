import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { failpoint } from '@libs/failpoints';
import { Database } from '@libs/persistence';

/** Seconds that an id is kept after its token has expired, for clocks that differ. */
const KEPT_FOR_SECONDS = 30;
const CLAIM = `
  INSERT INTO used_token_ids (hash, expires_at) VALUES ($1, to_timestamp($2))
  ON CONFLICT (hash) DO NOTHING`;

/** Ids of used single-use tokens. One statement decides, so of many requests at once one wins. */
@Injectable()
export class UsedTokenIdsRepository {
  constructor(private readonly database: Database) {}

  /** Marks the token id as used. Returns false if it was used before. */
  async claimTokenId(issuerId: string, tokenId: string, expiresAtSeconds: number): Promise<boolean> {
    const rows = await this.database.execute({
      name: 'claim-token-id',
      sql: CLAIM,
      values: [hash('sha256', JSON.stringify([issuerId, tokenId]), 'hex'), expiresAtSeconds + KEPT_FOR_SECONDS],
    });
    failpoint('token-id-claimed');
    return rows === 1;
  }
}
