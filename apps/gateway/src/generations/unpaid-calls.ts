import { AppError } from '@libs/errors';
import { formatUsd, parseUsd, type PicoUsd } from '@libs/inference';
import { HeldBack, type GenerationsRepository, type HoldRefusal } from '@libs/persistence';
import type { UnpaidCall } from './generation-rows';
import type { GenerationTicket } from './generation-ticket';
import type { Shortage } from './under-held-calls';

/** How often a hold is lowered again, because other calls of the organization may spend the rest meanwhile. */
const MOST_LOWERED = 8;
/** How long a call waits for others that hold less than they may cost. */
const TURN_MS = 10_000;

/** The tries to open one call. */
interface Trying {
  readonly request: HeldBack;
  /** By `performance.now`. */
  readonly untilMs: number;
}

/**
 * Opens calls that were not covered as a group, and refuses those that are not covered individually either. A hold is
 * lowered to half of what is left of the credits, the limit or the budget, but not below the call's least hold. The
 * other half is for calls whose cost is known.
 */
export class UnpaidCalls {
  constructor(
    private readonly repository: Pick<GenerationsRepository, 'refusal'>,
    private readonly books: {
      /** Resolves with the call if it is not covered. */
      readonly openAlone: (call: UnpaidCall) => Promise<UnpaidCall | undefined>;
      readonly onRefused: (ticket: GenerationTicket, error: AppError) => void;
      /** Resolves when a call that holds less than it may cost is charged; null if too many calls wait for that. */
      readonly nextPaid: (organizationId: string, ms: number) => Promise<void> | null;
      /** Runs work that other calls do not wait for. */
      readonly inBackground: (work: Promise<void>) => void;
    },
  ) {}

  /** @param unpaid calls of one organization; as many are opened as the money allows */
  async decide(unpaid: readonly UnpaidCall[]): Promise<void> {
    for (const call of unpaid) {
      const missing = unpaid.length === 1 ? call : await this.books.openAlone(call);
      if (missing === undefined) continue;
      const request = new HeldBack(missing.ticket.opening.organizationId);
      await this.refuse(missing, { request, untilMs: performance.now() + TURN_MS });
    }
  }

  /** Refuses a call, or opens it later if holds of ended calls may still block its money. */
  private async refuse(call: UnpaidCall, trying: Trying, lowered = 0): Promise<void> {
    const { ticket } = call;
    const error = await this.refusalOf(call, ticket.leastPicoUsd);
    if (ticket.holdPicoUsd > ticket.leastPicoUsd && lowered < MOST_LOWERED && leftOf(error) >= ticket.leastPicoUsd) {
      if (!(await this.lowersHold(call, leftOf(error)))) return this.awaitTurn(call, trying);
      const missing = await this.books.openAlone(call);
      return missing && this.refuse(missing, trying, lowered + 1);
    }
    const settled = trying.request.afterSettlements(error);
    if (settled === null) this.books.onRefused(ticket, error);
    else this.books.inBackground(settled.then(() => this.openLater(call, trying)));
  }

  /** Waits until the call that holds less than it may cost is charged; refuses the call if that takes too long. */
  private async awaitTurn(call: UnpaidCall, trying: Trying): Promise<void> {
    const leftMs = trying.untilMs - performance.now();
    const paid = leftMs > 0 ? this.books.nextPaid(call.ticket.opening.organizationId, leftMs) : null;
    if (paid === null || call.ticket.isEnded) return this.refuseMost(call);
    void paid.then(() => this.books.inBackground(this.openLater(call, trying)));
  }

  private async refuseMost(call: UnpaidCall): Promise<void> {
    this.books.onRefused(call.ticket, await this.refusalOf(call, call.ticket.holdPicoUsd));
  }

  private async openLater(call: UnpaidCall, trying: Trying): Promise<void> {
    if (call.ticket.isEnded) return this.refuseMost(call);
    const missing = await this.books.openAlone(call);
    if (missing !== undefined) await this.refuse(missing, trying);
  }

  /** Lowers the hold, unless the full amount is available by now. Returns false if another call already holds less. */
  private async lowersHold(call: UnpaidCall, leftPicoUsd: PicoUsd): Promise<boolean> {
    const { ticket, refusedBy: by } = call;
    if (leftPicoUsd >= ticket.holdPicoUsd) return true;
    const half = leftPicoUsd / 2n;
    const lowered = half > ticket.leastPicoUsd ? half : ticket.leastPicoUsd;
    const lackPicoUsd = ticket.mostPicoUsd - lowered;
    const mayHoldLess =
      ticket.mayHoldLess({ lackPicoUsd, by, creditsPicoUsd: 0n, budgetPicoUsd: 0n }) ||
      (by !== 'credits' && ticket.mayHoldLess({ lackPicoUsd, by, ...(await this.fundsOf(call)) }));
    if (mayHoldLess) ticket.holdPicoUsd = lowered;
    return mayHoldLess;
  }

  /** Returns what is left of the organization's credits and of the workspace's budget. */
  private async fundsOf({ ticket }: UnpaidCall): Promise<Pick<Shortage, 'creditsPicoUsd' | 'budgetPicoUsd'>> {
    const leftOfFund = async (refusedBy: HoldRefusal): Promise<PicoUsd> =>
      leftOf(await this.refusalOf({ ticket, refusedBy }, ticket.holdPicoUsd));
    const hasBudget = (ticket.opening.budgets ?? []).length > 0;
    return {
      creditsPicoUsd: await leftOfFund('credits'),
      budgetPicoUsd: hasBudget ? await leftOfFund('budget') : null,
    };
  }

  private refusalOf({ ticket: { opening }, refusedBy }: UnpaidCall, amountPicoUsd: PicoUsd): Promise<AppError> {
    const refusal = this.repository.refusal(opening, refusedBy, formatUsd(amountPicoUsd));
    return refusal.catch((thrown: unknown) => AppError.from(thrown));
  }
}

/** Returns what is left of the limit that refused the call; 0 if that is unknown. */
function leftOf({ metadata }: AppError): PicoUsd {
  return typeof metadata?.left_usd === 'string' ? parseUsd(metadata.left_usd) : 0n;
}
