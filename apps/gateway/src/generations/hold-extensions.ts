import { AppError } from '@libs/errors';
import { formatUsd, type PicoUsd } from '@libs/inference';
import { tryWhileHeldBack, type GenerationsRepository } from '@libs/persistence';
import type { CallerCredits } from './caller-credits';
import type { GenerationTicket, Opening } from './generation-ticket';
import type { PresentTerms } from './present-terms';

/** Extends the holds of running calls that are about to spend more than was reserved, by the current limits. */
export class HoldExtensions {
  constructor(
    private readonly repository: Pick<GenerationsRepository, 'extend' | 'refusal'>,
    private readonly credits: CallerCredits,
    private readonly presentTerms: PresentTerms,
  ) {}

  /**
   * Resolves when the call's hold has been raised by this amount.
   * @throws AppError payment_required if it is not available, authentication if the key can no longer be used, or the
   * error why the call is not in the ledger
   */
  readonly extend = async (ticket: GenerationTicket, amountPicoUsd: PicoUsd): Promise<void> => {
    await ticket.decided();
    if (ticket.refusal !== null) throw ticket.refusal;
    const payer = await this.presentTerms(ticket.opening);
    await tryWhileHeldBack(payer.organizationId, () => this.tryExtend(ticket, payer, amountPicoUsd));
  };

  private async tryExtend(ticket: GenerationTicket, payer: Opening, amountPicoUsd: PicoUsd): Promise<void> {
    const refusedBy = await this.repository.extend(payer, formatUsd(amountPicoUsd));
    if (refusedBy === 'closed') {
      throw new AppError('unavailable', 'The reservation of this request is already closed: send the request again');
    }
    if (refusedBy !== null) {
      this.credits.forget(payer);
      throw await this.repository.refusal(payer, refusedBy, formatUsd(amountPicoUsd));
    }
    ticket.holdPicoUsd += amountPicoUsd;
    this.credits.spent(ticket.opening, amountPicoUsd);
  }
}
