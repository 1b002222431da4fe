import type { PicoUsd } from '@libs/inference';

interface Credit {
  availablePicoUsd: PicoUsd;
  /** Holds of calls that have started but are not in the ledger yet. */
  startedPicoUsd: PicoUsd;
  /** Charges, since the ledger was read, of calls that held nothing. */
  unheldPicoUsd: PicoUsd;
  freshUntilMs: number;
}

const MOST_PAYERS = 10_000;
/** After this time the value is not used, because another process may have spent the money. */
const FRESH_FOR_MS = 10_000;
/**
 * The same after a call that ended without a hold. Such calls do not read the ledger, so many of them could spend what
 * other processes have spent already.
 */
const FRESH_WITHOUT_HOLD_MS = 100;
const LEAST_COMFORT_PICO_USD = 1_000_000_000_000n;
const COMFORT_FACTOR = 20n;

/**
 * What payers (organizations, keys with a limit, workspaces with a budget) could spend when the ledger was last read,
 * updated by what this process did since. It only decides whether a call waits for its hold, never whether it is paid
 * for.
 */
export class KnownCredits {
  private readonly credits = new Map<string, Credit>();

  constructor(private readonly nowMs: () => number) {}

  /**
   * Returns whether the payer's known credit exceeds the hold so clearly that the call need not wait for it. All calls
   * that did not wait since the ledger was read count together: they are what this process may overdraw if others have
   * spent the credit.
   */
  covers(payerId: string, holdPicoUsd: PicoUsd): boolean {
    const credit = this.credits.get(payerId);
    if (credit === undefined || this.nowMs() > credit.freshUntilMs) return false;
    const wanted = COMFORT_FACTOR * (credit.startedPicoUsd + credit.unheldPicoUsd + holdPicoUsd);
    const comfort = wanted > LEAST_COMFORT_PICO_USD ? wanted : LEAST_COMFORT_PICO_USD;
    return credit.availablePicoUsd >= comfort;
  }

  /** Notes what the books say now. */
  learn(payerId: string, availablePicoUsd: PicoUsd): void {
    const startedPicoUsd = this.credits.get(payerId)?.startedPicoUsd ?? 0n;
    this.credits.delete(payerId);
    const freshUntilMs = this.nowMs() + FRESH_FOR_MS;
    this.credits.set(payerId, { availablePicoUsd, startedPicoUsd, unheldPicoUsd: 0n, freshUntilMs });
    if (this.credits.size > MOST_PAYERS) this.credits.delete(this.credits.keys().next().value!);
  }

  /** Notes a call that started before its hold was written; negative after the hold is written or not needed. */
  started(payerId: string, holdPicoUsd: PicoUsd): void {
    const credit = this.credits.get(payerId);
    if (credit === undefined) return;
    const startedPicoUsd = credit.startedPicoUsd + holdPicoUsd;
    credit.startedPicoUsd = startedPicoUsd > 0n ? startedPicoUsd : 0n;
  }

  spent(payerId: string, amountPicoUsd: PicoUsd): void {
    const credit = this.credits.get(payerId);
    if (credit !== undefined) credit.availablePicoUsd -= amountPicoUsd;
  }

  /** Notes a charge of a call that held nothing; soon a call will wait, which reads the ledger. */
  spentWithoutHold(payerId: string, amountPicoUsd: PicoUsd): void {
    this.spent(payerId, amountPicoUsd);
    const credit = this.credits.get(payerId);
    if (credit === undefined) return;
    credit.unheldPicoUsd += amountPicoUsd;
    credit.freshUntilMs = Math.min(credit.freshUntilMs, this.nowMs() + FRESH_WITHOUT_HOLD_MS);
  }

  forget(payerId: string): void {
    this.credits.delete(payerId);
  }
}
