import { countedCost, type Cost, type CountedPrompt, type PicoUsd } from '@libs/inference';
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
    private readonly ticket: Pick<GenerationTicket, 'cover'>,
    /** Estimates a turn with such a prompt. */
    private readonly turnPicoUsd: (prompt: CountedPrompt) => PicoUsd,
    /** Whether a limit counts what own providers charge: then estimates are list prices, and so must be what was spent. */
    private readonly countsByok = false,
  ) {}

  /** Resolves with what was reserved. @throws AppError payment_required when it is not there */
  reserveTurn(prompt: CountedPrompt): Promise<PicoUsd> {
    return this.reserve(this.turnPicoUsd(prompt));
  }

  /** Resolves with what was reserved. @throws AppError payment_required when it is not there */
  async reserve(picoUsd: PicoUsd): Promise<PicoUsd> {
    // One after the other: each sees what the one before has added to the hold.
    this.last = this.last === null ? this.take(picoUsd) : this.last.catch(() => 0n).then(() => this.take(picoUsd));
    return this.last;
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
