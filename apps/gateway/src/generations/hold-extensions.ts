import { AppError } from '@libs/errors';
import { formatUsd, type PicoUsd } from '@libs/inference';
import { tryWhileHeldBack, type GenerationsRepository } from '@libs/persistence';
import type { CallerCredits } from './caller-credits';
import type { GenerationTicket } from './generation-ticket';

/** Holds more for calls that are under way and are about to spend more than was held for them. */
export class HoldExtensions {
  constructor(
    private readonly repository: Pick<GenerationsRepository, 'extend' | 'refusal'>,
    private readonly credits: CallerCredits,
  ) {}

  /**
   * Resolves when the call's hold has been raised by this amount.
   *
   * @throws AppError payment_required when it is not there, or why the call is not on the books
   */
  async extend(ticket: GenerationTicket, amountPicoUsd: PicoUsd): Promise<void> {
    await ticket.decided();
    if (ticket.refusal !== null) throw ticket.refusal;
    await tryWhileHeldBack(ticket.opening.organizationId, () => this.tryExtend(ticket, amountPicoUsd));
  }

  private async tryExtend(ticket: GenerationTicket, amountPicoUsd: PicoUsd): Promise<void> {
    const { opening } = ticket;
    const refusedBy = await this.repository.extend(opening, formatUsd(amountPicoUsd));
    if (refusedBy === 'closed') throw new AppError('unavailable', 'The cost of this request cannot be reserved now');
    if (refusedBy !== null) {
      this.credits.forget(opening);
      throw await this.repository.refusal(opening, refusedBy, formatUsd(amountPicoUsd));
    }
    ticket.holdPicoUsd += amountPicoUsd;
    this.credits.spent(opening, amountPicoUsd);
  }
}
