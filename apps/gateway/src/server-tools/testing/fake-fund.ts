import { AppError } from '@libs/errors';
import { countedCost, type Cost } from '@libs/inference';
import type { ToolFund } from '../tool-fund';

/** Money for an answer in turns: so much and no more, counting own providers' charges. A turn is reserved at its price. */
export class FakeFund implements ToolFund {
  taken = 0n;

  constructor(
    private readonly picoUsd: bigint = 1_000_000_000_000n,
    private readonly turnPicoUsd: bigint = 20_000n,
  ) {}

  reserveTurn(): Promise<bigint> {
    return this.reserve(this.turnPicoUsd);
  }

  async reserve(picoUsd: bigint): Promise<bigint> {
    if (this.taken + picoUsd > this.picoUsd) throw new AppError('payment_required', 'Insufficient credits');
    this.taken += picoUsd;
    return picoUsd;
  }

  spent(reservedPicoUsd: bigint, cost: Pick<Cost, 'totalCost' | 'upstreamCost'>): void {
    this.taken += countedCost(cost) - reservedPicoUsd;
  }
}
