import { Injectable } from '@nestjs/common';
import { parseUsd, usdNumber } from '@libs/inference';
import { LedgerRepository } from '@libs/persistence';

/** Amounts in US dollars. */
export interface CreditsView {
  readonly total_credits: number;
  readonly total_usage: number;
}

/** Returns how many credits an organization has bought and spent in total. */
@Injectable()
export class CreditsService {
  constructor(private readonly ledger: LedgerRepository) {}

  async of(organizationId: string): Promise<CreditsView> {
    const { totalCreditsUsd, totalUsageUsd } = await this.ledger.creditsOf(organizationId);
    return { total_credits: usdNumber(parseUsd(totalCreditsUsd)), total_usage: usdNumber(parseUsd(totalUsageUsd)) };
  }
}
