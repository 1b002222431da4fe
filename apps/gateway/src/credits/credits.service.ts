import { Injectable } from '@nestjs/common';
import { parseUsd, usdNumber } from '@libs/inference';
import { LedgerRepository } from '@libs/persistence';

/** In US dollars. */
export interface CreditsView {
  readonly total_credits: number;
  readonly total_usage: number;
}

/** What an organization ever bought and ever spent. */
@Injectable()
export class CreditsService {
  constructor(private readonly ledger: LedgerRepository) {}

  async of(organizationId: string): Promise<CreditsView> {
    const { totalCreditsUsd, totalUsageUsd } = await this.ledger.creditsOf(organizationId);
    return { total_credits: usdNumber(parseUsd(totalCreditsUsd)), total_usage: usdNumber(parseUsd(totalUsageUsd)) };
  }
}
