import type { AppError } from '@libs/errors';
import type { PicoUsd } from '@libs/inference';
import type { Shortage } from './under-held-calls';
import type { GenerationOpening, GenerationSettlement, OpeningTerms } from '@libs/persistence';

/**
 * State of a call's row in the books: it waits to be written, is being written, is there, or its money was refused;
 * `unknown` if PostgreSQL gave no answer.
 */
export type OpeningState = 'waiting' | 'writing' | 'open' | 'refused' | 'unknown';

/** A call that is about to be made, without its hold. */
export type Opening = Omit<GenerationOpening, 'holdUsd'>;

/** What became of a call, without what its opening already says. */
export type CallOutcome = Omit<GenerationSettlement, keyof Omit<GenerationOpening, OpeningTerms>> & {
  readonly costPicoUsd: PicoUsd;
};

/** Where the tickets are kept. */
export interface TicketBooks {
  readonly end: (ticket: GenerationTicket, outcome: CallOutcome, isWithdrawn: boolean) => void;
  /** Resolves when so much more is held. @throws AppError payment_required when it is not there */
  readonly extend: (ticket: GenerationTicket, amountPicoUsd: PicoUsd) => Promise<void>;
  readonly underHeld: {
    readonly has: (call: Opening) => boolean;
    readonly begin: (call: Opening, shortage: Shortage) => boolean;
  };
}

/** One call that is being paid for. The recorder makes it; the code that made the call ends it exactly once. */
export class GenerationTicket {
  state: OpeningState = 'waiting';
  isEnded = false;
  /** Why the call must not go on, once that is known. */
  refusal: AppError | null = null;
  /** Its charge, while the row is still being written. */
  deferred: GenerationSettlement | null = null;
  private listener: (() => void) | null = null;
  private deciding: (() => void)[] | null = null;
  /** Null where the call runs ahead: it listens to `onRefused` instead. */
  private readonly holdDecided: PromiseWithResolvers<void> | null;
  /** What it held at first: the most that it may cost. */
  readonly mostPicoUsd: PicoUsd;

  constructor(
    readonly opening: Opening,
    /** Grows when the call needs more. */
    public holdPicoUsd: PicoUsd,
    /** The call runs ahead of its hold. */
    readonly isAhead: boolean,
    private readonly books: TicketBooks,
    /** `traceparent` of what caused the call, as its caller says. */
    readonly cause: string | null = null,
    /** The hold may be lowered to this before the call is opened. */
    readonly leastPicoUsd: PicoUsd = holdPicoUsd,
  ) {
    this.mostPicoUsd = holdPicoUsd;
    this.holdDecided = isAhead ? null : Promise.withResolvers<void>();
    // Code that awaits `covered` gets the error; a call that has ended meanwhile no longer waits.
    this.holdDecided?.promise.catch(() => undefined);
  }

  /**
   * Resolves when the call may go upstream; null when it may at once.
   *
   * @throws AppError payment_required, or why PostgreSQL could not be asked
   */
  get covered(): Promise<void> | null {
    return this.holdDecided?.promise ?? null;
  }

  /** Calls the listener when a call that runs ahead turns out not to be covered; at once if that is known. */
  onRefused(listener: () => void): void {
    this.listener = listener;
    if (this.refusal !== null) listener();
  }

  /** The call is over; what it cost is charged. */
  settle(outcome: CallOutcome): void {
    this.end(outcome, false);
  }

  /** The call never went upstream, so it is worth no row; one that is there already says what became of it. */
  withdraw(outcome: CallOutcome): void {
    this.end(outcome, true);
  }

  /**
   * Resolves when so much is held for the call in all.
   *
   * @throws AppError payment_required when it is not there, or why the call is not on the books
   */
  async cover(totalPicoUsd: PicoUsd): Promise<void> {
    if (totalPicoUsd > this.holdPicoUsd) await this.books.extend(this, totalPicoUsd - this.holdPicoUsd);
  }

  /** Whether it holds less than it may cost. */
  get holdsLess(): boolean {
    return this.books.underHeld.has(this.opening);
  }

  /** Returns whether it may hold less than it may cost, which keeps others of its organization from it. */
  mayHoldLess(shortage: Shortage): boolean {
    return !this.isEnded && this.books.underHeld.begin(this.opening, shortage);
  }

  /** Resolves when it is known what became of the opening. */
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

  /** PostgreSQL gave no answer. A call that runs ahead goes on: its charge writes the row. */
  unanswered(error: AppError): void {
    this.decide('unknown');
    if (!this.isAhead) this.refuse(error);
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
