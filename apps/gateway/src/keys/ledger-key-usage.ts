import { Injectable } from '@nestjs/common';
import { LastUsesRepository, LedgerRepository, type KeyLimit, type Tenant } from '@libs/persistence';
import { KeyUsage, type KeyUsageFigures } from './key-usage';

/** Reads from the ledger what keys were charged and what they may still spend. */
@Injectable()
export class LedgerKeyUsage extends KeyUsage {
  constructor(
    private readonly ledger: LedgerRepository,
    private readonly uses: LastUsesRepository,
  ) {
    super();
  }

  override usageOf(tenant: Tenant, keyHashes: readonly string[]): Promise<ReadonlyMap<string, KeyUsageFigures>> {
    return this.ledger.spendingOf(tenant, keyHashes);
  }

  override lastUsesOf({ organizationId }: Tenant, keyHashes: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    return this.uses.findUses(organizationId, keyHashes);
  }

  override leftOf(tenant: Tenant, limits: ReadonlyMap<string, KeyLimit>): Promise<ReadonlyMap<string, string>> {
    return this.ledger.leftOf(tenant, limits);
  }
}
