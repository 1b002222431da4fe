import { Injectable } from '@nestjs/common';
import { LedgerRepository } from '@libs/persistence';
import { KeyUsage, NOTHING_SPENT, type KeyUsageFigures } from './key-usage';

/** What keys spent, from the ledger. All of it ran on the service's capacity: nobody can bring credentials yet. */
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
