import { AppError } from '@libs/errors';
import { countedCost, type Cost, type CountedPrompt, type PicoUsd, type PromptEstimate } from '@libs/inference';
import type { GenerationTicket } from './generation-ticket';

/**
 * What one call may spend. Each turn and each tool use reserves its estimated cost before it begins, from the call's
 * hold, which is extended if it is too small. So a call can exceed its hold at most by the difference between cost and
 * estimate of the parts that run at the same time.
 */
export class CallFund {
  /** Amount already spent plus amount reserved for running parts. */
  private takenPicoUsd: PicoUsd = 0n;
  /** The last extension; null before the first: most calls need only their initial reservation. */
  private last: Promise<PicoUsd> | null = null;

  constructor(
    private readonly ticket: Pick<GenerationTicket, 'cover' | 'holdsLess' | 'mayHoldLess'>,
    /** Estimates a turn with such a prompt. */
    private readonly turnPicoUsd: (prompt: CountedPrompt) => PicoUsd,
    /** True if a limit counts the charges of own providers: then estimates and spent amounts are list prices. */
    private readonly countsByok = false,
  ) {}

  /**
   * Resolves with the reserved amount: the most that the turn may cost even if its media misstate their properties. If
   * that much is not available, a call that may hold less reserves the amount for the stated properties.
   * @throws AppError payment_required if it is not available
   */
  reserveTurn(prompt: CountedPrompt & Partial<Pick<PromptEstimate, 'unproven'>>): Promise<PicoUsd> {
    const least = this.turnPicoUsd(prompt);
    const most = prompt.unproven ? this.turnPicoUsd(prompt.unproven) : least;
    return most > least ? this.inTurn(() => this.takeMost(least, most)) : this.reserve(least);
  }

  /** Resolves with the reserved amount. @throws AppError payment_required if it is not available */
  reserve(picoUsd: PicoUsd): Promise<PicoUsd> {
    return this.inTurn(() => this.take(picoUsd));
  }

  /** Runs the reservations one after the other, so that each sees what the previous one added to the hold. */
  private inTurn(take: () => Promise<PicoUsd>): Promise<PicoUsd> {
    this.last = this.last === null ? take() : this.last.catch(() => 0n).then(take);
    return this.last;
  }

  private async takeMost(least: PicoUsd, most: PicoUsd): Promise<PicoUsd> {
    if (this.ticket.holdsLess) return this.take(least);
    try {
      return await this.take(most);
    } catch (error) {
      if (AppError.from(error).code !== 'payment_required') throw error;
      const shortage = { lackPicoUsd: most - least, by: 'credits', creditsPicoUsd: 0n, budgetPicoUsd: 0n } as const;
      if (!this.ticket.mayHoldLess(shortage)) throw error;
      return this.take(least);
    }
  }

  private async take(picoUsd: PicoUsd): Promise<PicoUsd> {
    await this.ticket.cover(this.takenPicoUsd + picoUsd);
    this.takenPicoUsd += picoUsd;
    return picoUsd;
  }

  /** Replaces a reservation by the actual cost of its part. */
  spent(reservedPicoUsd: PicoUsd, cost: Pick<Cost, 'totalCost' | 'upstreamCost'>): void {
    this.takenPicoUsd += (this.countsByok ? countedCost(cost) : cost.totalCost) - reservedPicoUsd;
  }
}
