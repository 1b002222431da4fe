import type { AppError } from '@libs/errors';
import type { PicoUsd } from '@libs/inference';
import type { Shortage } from './under-held-calls';
import type { GenerationOpening, GenerationSettlement, OpeningTerms } from '@libs/persistence';

/**
 * State of a call's row in the ledger: waiting to be written, being written, written, or refused for lack of money;
 * `unknown` if PostgreSQL gave no answer.
 */
export type OpeningState = 'waiting' | 'writing' | 'open' | 'refused' | 'unknown';

/** A call that is about to be made, without its hold. */
export type Opening = Omit<GenerationOpening, 'holdUsd'>;

/** The outcome of a call, without the facts that its opening already has. */
export type CallOutcome = Omit<GenerationSettlement, keyof Omit<GenerationOpening, OpeningTerms>> & {
  readonly costPicoUsd: PicoUsd;
};

/** The recorder functions that a ticket uses. */
export interface TicketBooks {
  readonly end: (ticket: GenerationTicket, outcome: CallOutcome, isWithdrawn: boolean) => void;
  /** Resolves when the hold has been raised by this amount. @throws AppError payment_required if it is not available */
  readonly extend: (ticket: GenerationTicket, amountPicoUsd: PicoUsd) => Promise<void>;
  readonly underHeld: {
    readonly has: (call: Opening) => boolean;
    readonly begin: (call: Opening, shortage: Shortage) => boolean;
  };
}

/** One call that is being paid for. The recorder creates it; the code that made the call must end it exactly once. */
export class GenerationTicket {
  state: OpeningState = 'waiting';
  isEnded = false;
  /** Why the call must not continue, once that is known. */
  refusal: AppError | null = null;
  /** The charge, if the call ended while its row was still being written. */
  deferred: GenerationSettlement | null = null;
  private listener: (() => void) | null = null;
  private deciding: (() => void)[] | null = null;
  /** Null if the call starts before its hold is written: it uses `onRefused` instead. */
  private readonly holdDecided: PromiseWithResolvers<void> | null;
  /** The initial hold, which is the most that the call may cost. */
  readonly mostPicoUsd: PicoUsd;

  constructor(
    readonly opening: Opening,
    /** Grows when the call needs more. */
    public holdPicoUsd: PicoUsd,
    /** The call runs ahead of its hold. */
    readonly isAhead: boolean,
    private readonly books: TicketBooks,
    /** `traceparent` of the span that caused the call, as its caller sent it. */
    readonly cause: string | null = null,
    /** The hold may be lowered to this amount before the call is opened. */
    readonly leastPicoUsd: PicoUsd = holdPicoUsd,
  ) {
    this.mostPicoUsd = holdPicoUsd;
    this.holdDecided = isAhead ? null : Promise.withResolvers<void>();
    // Code that awaits `covered` gets the error; a call that has already ended does not wait for it.
    this.holdDecided?.promise.catch(() => undefined);
  }

  /**
   * Resolves when the call may be sent upstream; null if it may be sent at once.
   * @throws AppError payment_required, or the error why PostgreSQL could not be asked
   */
  get covered(): Promise<void> | null {
    return this.holdDecided?.promise ?? null;
  }

  /**
   * Calls the listener when a call that started early turns out not to be covered; at once if that is already known.
   */
  onRefused(listener: () => void): void {
    this.listener = listener;
    if (this.refusal !== null) listener();
  }

  /** Ends the call and charges its cost. */
  settle(outcome: CallOutcome): void {
    this.end(outcome, false);
  }

  /** Ends a call that was never sent upstream, so it needs no row. A row that exists already records the outcome. */
  withdraw(outcome: CallOutcome): void {
    this.end(outcome, true);
  }

  /**
   * Resolves when the total hold of the call is this amount.
   * @throws AppError payment_required if it is not available, or the error why the call is not in the ledger
   */
  async cover(totalPicoUsd: PicoUsd): Promise<void> {
    if (totalPicoUsd > this.holdPicoUsd) await this.books.extend(this, totalPicoUsd - this.holdPicoUsd);
  }

  /** True if the hold is lower than what the call may cost. */
  get holdsLess(): boolean {
    return this.books.underHeld.has(this.opening);
  }

  /**
   * Returns whether the call may hold less than it may cost. While it does, other calls of its organization may not.
   */
  mayHoldLess(shortage: Shortage): boolean {
    return !this.isEnded && this.books.underHeld.begin(this.opening, shortage);
  }

  /** Resolves when the outcome of the opening is known. */
  decided(): Promise<void> {
    if (this.state !== 'waiting' && this.state !== 'writing') return Promise.resolve();
    return new Promise((resolve) => void (this.deciding ??= []).push(resolve));
  }

  opened(): void {
    this.decide('open');
    this.holdDecided?.resolve();
  }

  private decide(state: OpeningState): void {
    this.state = state;
    const { deciding } = this;
    this.deciding = null;
    for (const resolve of deciding ?? []) resolve();
  }

  refused(error: AppError): void {
    this.decide('refused');
    this.refuse(error);
  }

  /** PostgreSQL gave no answer. A call that started early continues: its charge writes the row. */
  unanswered(error: AppError): void {
    this.decide('unknown');
    if (!this.isAhead) this.refuse(error);
  }

  /** PostgreSQL wrote nothing. A call that started early continues; any other one needs no row. */
  unwritten(error: AppError): void {
    if (this.isAhead) this.unanswered(error);
    else this.refused(error);
  }

  private refuse(error: AppError): void {
    this.refusal = error;
    this.holdDecided?.reject(error);
    this.listener?.();
  }

  private end(outcome: CallOutcome, isWithdrawn: boolean): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.listener = null;
    this.books.end(this, outcome, isWithdrawn);
  }
}
