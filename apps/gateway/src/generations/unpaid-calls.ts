import { AppError } from '@libs/errors';
import { formatUsd } from '@libs/inference';
import { HeldBack, type GenerationsRepository } from '@libs/persistence';
import type { UnpaidCall } from './generation-rows';
import type { GenerationTicket } from './generation-ticket';

/** Opens calls that were not covered together, and refuses those that are not covered alone either. */
export class UnpaidCalls {
  constructor(
    private readonly repository: Pick<GenerationsRepository, 'refusal'>,
    private readonly books: {
      /** Resolves with the call if it is not covered. */
      readonly openAlone: (call: UnpaidCall) => Promise<UnpaidCall | undefined>;
      readonly onRefused: (ticket: GenerationTicket, error: AppError) => void;
      /** For work that other calls do not wait for. */
      readonly inBackground: (work: Promise<void>) => void;
    },
  ) {}

  /** @param unpaid of one organization; as many are opened as the money lasts for */
  async decide(unpaid: readonly UnpaidCall[]): Promise<void> {
    for (const call of unpaid) {
      const missing = unpaid.length === 1 ? call : await this.books.openAlone(call);
      if (missing === undefined) continue;
      await this.refuse(missing, new HeldBack(missing.ticket.opening.organizationId));
    }
  }

  /** Refuses a call, or opens it later if holds of calls that are over may be in its way. */
  private async refuse(call: UnpaidCall, request: HeldBack): Promise<void> {
    const error = await this.refusalOf(call);
    const settled = request.afterSettlements(error);
    if (settled === null) this.books.onRefused(call.ticket, error);
    else this.books.inBackground(settled.then(() => this.openLater(call, request)));
  }

  private async openLater(call: UnpaidCall, request: HeldBack): Promise<void> {
    const missing = await this.books.openAlone(call);
    if (missing !== undefined) await this.refuse(missing, request);
  }

  private refusalOf({ ticket: { opening, holdPicoUsd }, refusedBy }: UnpaidCall): Promise<AppError> {
    const refusal = this.repository.refusal(opening, refusedBy, formatUsd(holdPicoUsd));
    return refusal.catch((thrown: unknown) => AppError.from(thrown));
  }
}
