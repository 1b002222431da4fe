import { AppError } from '@libs/errors';
import { formatUsd, type PicoUsd } from '@libs/inference';
import { tryWhileHeldBack, type GenerationsRepository, type HoldRefusal } from '@libs/persistence';
import { WaitingPool } from '../http/waiting-pool';
import type { CallerCredits } from './caller-credits';
import type { GenerationTicket, Opening } from './generation-ticket';
import type { PresentTerms } from './present-terms';
import type { RecentlyLocked } from './recently-locked';

/** Of a gateway's 16 connections to PostgreSQL, those that may wait for an account. */
const MOST_AT_ONCE = 6;
const LONGEST_WAIT_MS = 30_000;
/** More than the calls that a gateway runs at a time. */
const MOST_WAITING = 10_000;

/** Extends the holds of running calls that are about to spend more than was reserved, by the current limits. */
export class HoldExtensions {
  private readonly turns = new WaitingPool(MOST_AT_ONCE, { longestWaitMs: LONGEST_WAIT_MS, mostWaiting: MOST_WAITING });

  constructor(
    private readonly repository: Pick<GenerationsRepository, 'extend' | 'refusal'>,
    private readonly credits: CallerCredits,
    private readonly presentTerms: PresentTerms,
    private readonly locked: Pick<RecentlyLocked, 'extend' | 'onceFree'>,
  ) {}

  /**
   * Resolves when the call's hold has been raised by this amount; waits up to 30 seconds for a locked account.
   * @throws AppError payment_required if it is not available, provider_overloaded if it took too long, unavailable if the
   * account stays locked, authentication if the key can no longer be used, or the error why the call is not in the ledger
   */
  readonly extend = async (ticket: GenerationTicket, amountPicoUsd: PicoUsd): Promise<void> => {
    await ticket.decided();
    if (ticket.refusal !== null) throw ticket.refusal;
    const payer = await this.presentTerms(ticket.opening);
    await tryWhileHeldBack(payer.organizationId, () => this.tryExtend(ticket, payer, amountPicoUsd));
  };

  private async tryExtend(ticket: GenerationTicket, payer: Opening, amountPicoUsd: PicoUsd): Promise<void> {
    const amountUsd = formatUsd(amountPicoUsd);
    // The call may have ended while it waited for its turn.
    const extend = async (): Promise<HoldRefusal | 'closed' | null> =>
      ticket.isEnded ? 'closed' : this.repository.extend(payer, amountUsd);
    const inTurn = (): Promise<HoldRefusal | 'closed' | null> =>
      this.turns.run(
        [payer.workspaceId, payer.organizationId],
        () => this.locked.extend(payer, extend),
        'too many holds are extended',
      );
    const refusedBy = await this.locked.onceFree(payer, () => ticket.isEnded, inTurn);
    if (refusedBy === 'closed') {
      throw new AppError('unavailable', 'The reservation of this request is already closed: send the request again');
    }
    if (refusedBy !== null) {
      this.credits.forget(payer);
      throw await this.repository.refusal(payer, refusedBy, amountUsd);
    }
    ticket.holdPicoUsd += amountPicoUsd;
    this.credits.spent(ticket.opening, amountPicoUsd);
  }
}
