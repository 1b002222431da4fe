import { cellRateOf, LocalCellRates, type CellDemand } from '../gcra';
import { RateLimiter, type RateDemand, type RateLimit, type RateVerdict } from '../rate-limiter';

/** The limiter of one process, by a clock that a test turns. */
export class LocalRateLimiter extends RateLimiter {
  nowMs = 0;
  private readonly rates = new LocalCellRates(() => this.nowMs);

  override async takeAll(demands: readonly RateDemand[], entity: string): Promise<RateVerdict> {
    return this.rates.takeAll(demands.map(({ limit, count }) => cellsOf(limit, entity, count)));
  }

  override async adjust(limit: RateLimit, entity: string, count: number): Promise<void> {
    this.rates.adjust(cellsOf(limit, entity, count));
  }
}

function cellsOf(limit: RateLimit, entity: string, count: number): CellDemand {
  return { key: `${limit.name}:${entity}`, rate: cellRateOf(limit), count };
}
