import { AppError } from '@libs/errors';
import { countedCost, type Cost, type CountedPrompt, type PicoUsd, type PromptEstimate } from '@libs/inference';
import type { GenerationTicket } from './generation-ticket';

/**
 * What one call may spend: each turn and each use of a tool reserves its estimated cost before it begins, from the
 * call's hold, which is extended when it does not last. So what a call overdraws is at most what its parts that run at
 * one time cost beyond their estimates.
 */
export class CallFund {
  /** What was spent, and what is reserved for the parts that run. */
  private takenPicoUsd: PicoUsd = 0n;
  /** Null before the first: most calls reserve nothing but what they began with. */
  private last: Promise<PicoUsd> | null = null;

  constructor(
    private readonly ticket: Pick<GenerationTicket, 'cover' | 'holdsLess' | 'mayHoldLess'>,
    /** Estimates a turn with such a prompt. */
    private readonly turnPicoUsd: (prompt: CountedPrompt) => PicoUsd,
    /** Whether a limit counts what own providers charge: then estimates are list prices, and so must be what was spent. */
    private readonly countsByok = false,
  ) {}

  /**
   * Resolves with what was reserved: the most that the turn may cost whatever its media say of themselves. If that is
   * not there, what they say is enough for a call that may hold less.
   *
   * @throws AppError payment_required when it is not there
   */
  reserveTurn(prompt: CountedPrompt & Partial<Pick<PromptEstimate, 'unproven'>>): Promise<PicoUsd> {
    const least = this.turnPicoUsd(prompt);
    const most = prompt.unproven ? this.turnPicoUsd(prompt.unproven) : least;
    return most > least ? this.inTurn(() => this.takeMost(least, most)) : this.reserve(least);
  }

  /** Resolves with what was reserved. @throws AppError payment_required when it is not there */
  reserve(picoUsd: PicoUsd): Promise<PicoUsd> {
    return this.inTurn(() => this.take(picoUsd));
  }

  /** One after the other: each sees what the one before has added to the hold. */
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

  /** Replaces a reservation by what its part has cost. */
  spent(reservedPicoUsd: PicoUsd, cost: Pick<Cost, 'totalCost' | 'upstreamCost'>): void {
    this.takenPicoUsd += (this.countsByok ? countedCost(cost) : cost.totalCost) - reservedPicoUsd;
  }
}
