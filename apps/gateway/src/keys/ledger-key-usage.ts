import { Injectable } from '@nestjs/common';
import { LedgerRepository } from '@libs/persistence';
import { KeyUsage, NOTHING_SPENT, type KeyUsageFigures } from './key-usage';

/** What keys were charged, from the ledger, which does not sum up what providers charge owners of own keys. */
@Injectable()
export class LedgerKeyUsage extends KeyUsage {
  constructor(private readonly ledger: LedgerRepository) {
    super();
  }

  override async usageOf(keyHashes: readonly string[]): Promise<ReadonlyMap<string, KeyUsageFigures>> {
    const spending = await this.ledger.spendingOf(keyHashes);
    return new Map([...spending].map(([hash, figures]) => [hash, { ...NOTHING_SPENT, ...figures }]));
  }
}
