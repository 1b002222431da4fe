import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { failpoint } from '@libs/failpoints';
import { Database } from '@libs/persistence';

/** The use of a token that counts once. Its issuer is the URL; an organization may have it in several rows. */
export interface TokenUse {
  readonly organizationId: string;
  /** Id of the issuer's row. */
  readonly issuerId: string;
  readonly issuerUrl: string;
  readonly tokenId: string;
  readonly expiresAtSeconds: number;
}

/** Seconds that an id is kept after its token has expired, because clocks differ. */
const KEPT_FOR_SECONDS = 30;
const CLAIM = `
  INSERT INTO used_token_ids (hash, expires_at) VALUES ($1, to_timestamp($3)), ($2, to_timestamp($3))
  ON CONFLICT (hash) DO NOTHING`;

/** Ids of used single-use tokens. One statement decides, so of many requests at once one wins. */
@Injectable()
export class UsedTokenIdsRepository {
  constructor(private readonly database: Database) {}

  /** Marks the token id as used. Returns false if it was used before. */
  async claimTokenId(use: TokenUse): Promise<boolean> {
    const { organizationId, issuerId, issuerUrl, tokenId, expiresAtSeconds } = use;
    const byIssuer = hashOf([organizationId, issuerUrl, tokenId]);
    // An earlier version identifies a use only by the row of the issuer. Both forms count, so that no token is accepted
    // twice during an upgrade, nor one that was used before it, which may be valid for another day.
    const byRow = hashOf([issuerId, tokenId]);
    const rows = await this.database.execute({
      name: 'claim-token-id',
      sql: CLAIM,
      values: [byIssuer, byRow, expiresAtSeconds + KEPT_FOR_SECONDS],
    });
    failpoint('token-id-claimed');
    return rows === 2;
  }
}

function hashOf(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'hex');
}
