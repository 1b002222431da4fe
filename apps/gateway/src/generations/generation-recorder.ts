import type { LoggerService } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { parseUsd, type PicoUsd } from '@libs/inference';
import {
  GroupCommit,
  isLocked,
  sqlStateOf,
  storeApart,
  type GenerationsRepository,
  type OpeningVerdict,
  type RefusedRow,
} from '@libs/persistence';
import { tracing } from '@libs/platform';
import { callSpan } from './call-span';
import { CallerCredits, type LedgerMark } from './caller-credits';
import type { DelayedCharges } from './delayed-charges';
import { GenerationTicket, type CallOutcome, type Opening, type TicketBooks } from './generation-ticket';
import { byokOf, byVerdict, openingRowOf, settlementOf, type UnpaidCall } from './generation-rows';
import { HoldExtensions } from './hold-extensions';
import type { PresentTerms } from './present-terms';
import { OpenCalls } from './open-calls';
import { RecentlyLocked } from './recently-locked';
import { measureWaiting, opened, spared, unopened } from './recorder-metrics';
import { SeparateOpenings } from './separate-openings';
import { SettlementQueue } from './settlement-queue';
import { UnderHeldCalls } from './under-held-calls';
import { UnpaidCalls } from './unpaid-calls';

const MOST_ROWS = 500;
const MOST_WAITING = 10_000;
/** How long rows that no call waits for are collected. A call that ends before needs no separate row. */
const GATHER_MS = 25;

export interface RecorderOptions {
  readonly delayed?: Pick<DelayedCharges, 'add' | 'done'> | undefined;
  readonly nowMs?: () => number;
}

type Marks = ReadonlyMap<GenerationTicket, LedgerMark>;

/**
 * Records every synchronous call in the ledger: a row with a hold while it runs, and a charge when it ends. Both are
 * written in group commits, so that thousands of calls per second need only a few commits. This is safe because:
 *
 * - **No call spends money that is not there.** The hold is one guarded statement in PostgreSQL. A call waits for it,
 *   with one exception: if, seconds ago, the organization's credit, the key's limit and the workspace's budgets had at
 *   least one dollar and twenty times the hold left, the call starts at once and the hold is written meanwhile, or not
 *   at all if the call is over by then; a later hold then reads the ledger. If the hold fails, the call is aborted. All
 *   such calls share that twentieth: the most that a process can overdraw, which is charged and shown as overage.
 * - **A crash is visible.** The row is sent as soon as the call. A process that dies leaves open rows; `AbandonedSweep`
 *   marks them as abandoned and releases the holds. A call that began in the last 25 ms, or whose charge is not
 *   written yet, is not charged, and one over before its hold was written leaves no row. See also `DelayedCharges`.
 * - **Every call is charged once.** A ticket ends once. The charge's key is the generation's id, so repeating it after
 *   an unknown outcome changes nothing. If a call ends before its row is written, its charge writes the row, or waits
 *   if the row is being written at that moment.
 * - **Answers do not wait for charges; shutdown does.** Charges that PostgreSQL cannot take wait in memory, at most ten
 *   thousand. After that, new calls are refused with 503 instead of being served for free.
 */
export class GenerationRecorder {
  readonly calls = new OpenCalls();
  private readonly credits: CallerCredits;
  private readonly settlements: SettlementQueue;
  private readonly books: TicketBooks;
  private readonly openings = new GroupCommit<GenerationTicket>({
    gatherMs: GATHER_MS,
    mostRows: MOST_ROWS,
    // Calls that have already ended when their group is written need no separate row.
    fullRows: Infinity,
    store: (tickets) => this.write(tickets),
  });
  private hurrying: NodeJS.Immediate | null = null;
  private readonly unpaid: UnpaidCalls;
  private readonly locked: RecentlyLocked;
  private readonly separate: SeparateOpenings<GenerationTicket>;
  private readonly underHeld = new UnderHeldCalls();
  private readonly background = new Set<Promise<void>>();

  constructor(
    private readonly repository: Pick<GenerationsRepository, 'open' | 'settle' | 'extend' | 'refusal' | 'lockedAmong'>,
    presentTerms: PresentTerms,
    private readonly logger: LoggerService,
    { delayed, nowMs = () => performance.now() }: RecorderOptions = {},
  ) {
    this.credits = new CallerCredits(nowMs);
    this.locked = new RecentlyLocked(nowMs, (ids) => repository.lockedAmong(ids));
    this.separate = new SeparateOpenings(this.locked, {
      open: (calls) => this.openGroup(calls),
      refuse: (ticket, error) => this.decided(ticket, () => ticket.unwritten(error)),
      inBackground: (work) => this.inBackground(work),
    });
    this.settlements = new SettlementQueue(repository, logger, {
      onDone: (charge) => {
        this.credits.charged(charge);
        this.underHeld.paid(charge);
      },
      delayed,
    });
    const { extend } = new HoldExtensions(repository, this.credits, presentTerms, this.locked);
    this.books = { end: this.onEnd, extend, underHeld: this.underHeld };
    this.unpaid = new UnpaidCalls(repository, {
      openAlone: (call) => this.openAlone(call),
      onRefused: (ticket, error) => this.decided(ticket, () => ticket.refused(error)),
      nextPaid: (organizationId, ms) => this.underHeld.nextPaid(organizationId, ms),
      inBackground: (work) => this.inBackground(work),
    });
    measureWaiting(() => ({ opening: this.openings.waiting, settlement: this.settlements.size }));
  }

  /**
   * Reserves the most that the call may cost, or less if that is not available.
   * @param cause `traceparent` of the span that caused the call
   * @throws AppError provider_overloaded if too many rows wait for PostgreSQL
   */
  open(opening: Opening, leastPicoUsd: PicoUsd, cause: string | null = null, mostPicoUsd = 0n): GenerationTicket {
    if (this.settlements.size >= MOST_WAITING || this.openings.waiting >= MOST_WAITING) {
      throw new AppError('provider_overloaded', 'The service is overloaded', { retryAfterSeconds: 5 });
    }
    const holdPicoUsd = mostPicoUsd > leastPicoUsd ? mostPicoUsd : leastPicoUsd;
    // Only a call whose cost is certain may start early: the most that it may cost equals its least hold.
    const isAhead = holdPicoUsd === leastPicoUsd && this.mayStart(opening, holdPicoUsd);
    if (isAhead) this.credits.started(opening, holdPicoUsd);
    const ticket = new GenerationTicket(opening, holdPicoUsd, isAhead, this.books, cause, leastPicoUsd);
    this.openings.add(ticket);
    this.calls.began();
    if (!isAhead || this.credits.takeReread(opening)) this.hurry();
    return ticket;
  }

  /**
   * A lock is known only after seconds. So calls that start early leave half of the room to those whose hold is written.
   */
  private mayStart(opening: Opening, holdPicoUsd: PicoUsd): boolean {
    return this.settlements.size < MOST_WAITING / 2 && this.credits.covers(opening, holdPicoUsd);
  }

  /** Resolves when everything is on the books. */
  async flush(): Promise<void> {
    while (this.openings.size + this.background.size > 0) {
      await Promise.all([this.openings.flush(), ...this.background]);
    }
    await this.settlements.flushed();
  }

  /** Rows that wait to be written. */
  get waiting(): number {
    return this.openings.waiting + this.settlements.size;
  }

  private readonly onEnd = (ticket: GenerationTicket, outcome: CallOutcome, isWithdrawn: boolean): void => {
    this.calls.ended();
    tracing()?.record(callSpan(ticket.opening, outcome, Date.now()), ticket.cause);
    switch (ticket.state) {
      case 'waiting':
        this.endUnwritten(ticket, isWithdrawn ? null : outcome);
        break;
      case 'writing':
        ticket.deferred = settlementOf(ticket.opening, outcome);
        this.settlements.announce(ticket.deferred);
        break;
      case 'refused':
        if (outcome.costPicoUsd > 0n) this.endWritten(ticket, outcome);
        else this.underHeld.paid(ticket.opening);
        break;
      case 'open':
      case 'unknown':
        // If PostgreSQL did not answer, the row may exist nevertheless, and only a charge releases its hold.
        this.endWritten(ticket, outcome);
        break;
    }
  };

  /** Ends a call whose row will not be written; only its charge records it. */
  private endUnwritten(ticket: GenerationTicket, outcome: CallOutcome | null): void {
    const { opening } = ticket;
    this.credits.noLongerAhead(ticket);
    if (outcome === null) return this.underHeld.paid(opening);
    this.credits.spentWithoutHold(opening, outcome.costPicoUsd, byokOf(outcome));
    this.settlements.add(settlementOf(opening, outcome));
  }

  private endWritten(ticket: GenerationTicket, outcome: CallOutcome): void {
    this.credits.spentBy(ticket, outcome.costPicoUsd, byokOf(outcome));
    this.settlements.add(settlementOf(ticket.opening, outcome));
  }

  /** Commits soon, because the call waits for it. Calls of the same turn of the event loop share the commit. */
  private hurry(): void {
    this.hurrying ??= setImmediate(() => {
      this.hurrying = null;
      this.openings.hurry();
    });
  }

  private async write(tickets: readonly GenerationTicket[]): Promise<void> {
    const group = tickets.filter(({ isEnded }) => !isEnded);
    spared.inc(tickets.length - group.length);
    // From now on, a call that ends waits until it is known whether its row was written.
    for (const ticket of group) ticket.state = 'writing';
    await this.openGroup(this.separate.takeFrom(group));
  }

  private async openGroup(group: readonly GenerationTicket[]): Promise<void> {
    if (group.length === 0) return;
    const missing = await this.tryOpen(group);
    const byOrganization = Map.groupBy(missing, ({ ticket }) => ticket.opening.organizationId);
    for (const unpaid of byOrganization.values()) {
      for (const { ticket } of unpaid) this.credits.forget(ticket.opening);
      this.inBackground(this.unpaid.decide(unpaid));
    }
  }

  /** @returns the calls that cannot be paid for together */
  private async tryOpen(group: readonly GenerationTicket[]): Promise<UnpaidCall[]> {
    for (const ticket of group) ticket.state = 'writing';
    const marks: Marks = new Map(group.map((ticket) => [ticket, this.credits.beforeReading(ticket.opening)]));
    const open = (some: readonly GenerationTicket[]) => this.repository.open(some.map(openingRowOf));
    const { stored, refused, stuck, failed } = await storeApart(group, open, {
      payerOf: ({ opening }) => opening.organizationId,
      lockedPayers: () => this.locked.findLocked(),
    });
    const missing = stored.flatMap(({ rows, result }) => this.judge(rows, result, marks));
    for (const { row, error } of refused) this.notOpened(row, error);
    this.locked.noteTimeouts(stuck);
    const left = failed?.rows.map((row) => ({ row, error: failed.error })) ?? [];
    this.notWritten([...stuck, ...left]);
    return missing;
  }

  private judge(group: readonly GenerationTicket[], verdicts: readonly OpeningVerdict[], marks: Marks): UnpaidCall[] {
    const { covered, missing, failed } = byVerdict(group, verdicts);
    const learned = new Set<OpeningVerdict>();
    for (const { ticket, verdict } of covered) {
      if (!learned.has(verdict)) this.credits.learn(ticket.opening, verdict, marks.get(ticket)!);
      learned.add(verdict);
      this.locked.unlocked(ticket.opening);
      this.decided(ticket, () => ticket.opened());
    }
    opened.inc(covered.length);
    this.locked.noteTimeouts(failed);
    this.notWritten(failed);
    return missing;
  }

  /** PostgreSQL would refuse the row again. */
  private notOpened(ticket: GenerationTicket, error: unknown): void {
    unopened.inc();
    const { id: generationId, organizationId } = ticket.opening;
    this.logger.error('A hold was refused as invalid', { sqlState: sqlStateOf(error), generationId, organizationId });
    this.decided(ticket, () => ticket.unanswered(new AppError('server', 'Internal error', { cause: error })));
  }

  private notWritten(rows: readonly RefusedRow<GenerationTicket>[]): void {
    if (rows.length === 0) return;
    this.logger.error('Holds could not be written', { err: rows[0]!.error, calls: rows.length });
    for (const { row, error } of rows) {
      const failure = AppError.from(error);
      // Only after a lock timeout it is certain that nothing was written.
      this.decided(row, () => (isLocked(error) ? row.unwritten(failure) : row.unanswered(failure)));
    }
  }

  /** Passes the outcome of the opening to the ticket, by `notify`, as soon as it is known. */
  private decided(ticket: GenerationTicket, notify: () => void): void {
    notify();
    // A call whose hold may be missing counts as started until it ends.
    if (ticket.state !== 'unknown') this.credits.noLongerAhead(ticket);
    this.settleDeferred(ticket);
  }

  /** Runs work that other calls do not wait for. */
  private inBackground(work: Promise<void>): void {
    const kept = work.finally(() => this.background.delete(kept));
    this.background.add(kept);
  }

  /** @returns the call if the credits do not cover it */
  private async openAlone({ ticket }: UnpaidCall): Promise<UnpaidCall | undefined> {
    if (this.locked.isResting(ticket.opening)) {
      this.separate.refuse([ticket]);
      return undefined;
    }
    const [missing] = await this.tryOpen([ticket]);
    return missing;
  }

  /** Settles a call that ended while its row was being written. */
  private settleDeferred(ticket: GenerationTicket): void {
    const { deferred } = ticket;
    ticket.deferred = null;
    if (deferred === null) return;
    // No money was held, and a call that cost nothing leaves nothing to write.
    if (ticket.state === 'refused' && deferred.costUsd === '0') {
      this.settlements.withdraw(deferred);
      this.underHeld.paid(ticket.opening);
      return;
    }
    this.credits.spentBy(ticket, parseUsd(deferred.costUsd), byokOf(deferred));
    this.settlements.add(deferred);
  }
}
