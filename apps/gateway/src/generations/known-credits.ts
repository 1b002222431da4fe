import type { PicoUsd } from '@libs/inference';

interface Credit {
  availablePicoUsd: PicoUsd;
  /** Holds of calls that have started but are not in the ledger yet. */
  startedPicoUsd: PicoUsd;
  /** Charges of calls that held nothing: those since the ledger was read, and those that it lacked then. */
  unheldPicoUsd: PicoUsd;
  /** The part of them that is not in the ledger yet. */
  pendingPicoUsd: PicoUsd;
  /** All of them that have reached the ledger. It only grows. */
  chargedPicoUsd: PicoUsd;
  readAtMs: number;
  /** From when on the ledger is to be read again, although no call waits for it. */
  rereadAtMs: number;
}

/** In addition to those of calls under way. */
const MOST_PAYERS = 10_000;
/** After this time the value is not used, because another process may have spent the money. */
const FRESH_FOR_MS = 10_000;
/**
 * How soon the ledger is read again after a call that ended without a hold. Such calls do not read it themselves, so
 * many of them could spend what other processes have spent already.
 */
const REREAD_AFTER_MS = 100;
const LEAST_COMFORT_PICO_USD = 1_000_000_000_000n;
const COMFORT_FACTOR = 20n;

const NOTHING_KNOWN = { startedPicoUsd: 0n, pendingPicoUsd: 0n, chargedPicoUsd: 0n } as const;

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
    if (credit === undefined || this.nowMs() - credit.readAtMs > FRESH_FOR_MS) return false;
    const wanted = COMFORT_FACTOR * (credit.startedPicoUsd + credit.unheldPicoUsd + holdPicoUsd);
    const comfort = wanted > LEAST_COMFORT_PICO_USD ? wanted : LEAST_COMFORT_PICO_USD;
    return credit.availablePicoUsd >= comfort;
  }

  /** Returns what to pass to `learn` with what the ledger says when it is read from now on. */
  beforeReading(payerId: string): PicoUsd {
    return this.credits.get(payerId)?.chargedPicoUsd ?? 0n;
  }

  /** Notes what the ledger said. It may lack the charges that were written since it was asked. */
  learn(payerId: string, inLedgerPicoUsd: PicoUsd, chargedBeforePicoUsd: PicoUsd): void {
    const { startedPicoUsd, pendingPicoUsd, chargedPicoUsd } = this.credits.get(payerId) ?? NOTHING_KNOWN;
    const readAtMs = this.nowMs();
    const since = chargedPicoUsd - chargedBeforePicoUsd;
    const lackedPicoUsd = pendingPicoUsd + (since > 0n ? since : 0n);
    this.credits.delete(payerId);
    this.credits.set(payerId, {
      availablePicoUsd: inLedgerPicoUsd - lackedPicoUsd,
      startedPicoUsd,
      unheldPicoUsd: lackedPicoUsd,
      pendingPicoUsd,
      chargedPicoUsd,
      readAtMs,
      rereadAtMs: lackedPicoUsd > 0n ? readAtMs + REREAD_AFTER_MS : Infinity,
    });
    this.dropOldest();
  }

  /** A payer about whom the ledger has said nothing yet. */
  private unread(payerId: string): Credit {
    this.dropOldest();
    const credit: Credit = {
      availablePicoUsd: 0n,
      startedPicoUsd: 0n,
      unheldPicoUsd: 0n,
      pendingPicoUsd: 0n,
      chargedPicoUsd: 0n,
      readAtMs: -Infinity,
      rereadAtMs: Infinity,
    };
    this.credits.set(payerId, credit);
    return credit;
  }

  /** A payer of calls under way is kept: without what they may cost, others could start. */
  private dropOldest(): void {
    if (this.credits.size <= MOST_PAYERS) return;
    for (const [payerId, { startedPicoUsd, pendingPicoUsd }] of this.credits) {
      if (startedPicoUsd + pendingPicoUsd > 0n) continue;
      this.credits.delete(payerId);
      return;
    }
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

  /** Notes a charge of a call that held nothing. */
  spentWithoutHold(payerId: string, amountPicoUsd: PicoUsd): void {
    const credit = this.credits.get(payerId) ?? this.unread(payerId);
    credit.availablePicoUsd -= amountPicoUsd;
    credit.unheldPicoUsd += amountPicoUsd;
    credit.pendingPicoUsd += amountPicoUsd;
    credit.rereadAtMs = Math.min(credit.rereadAtMs, this.nowMs() + REREAD_AFTER_MS);
  }

  /** Notes that a charge of a call that held nothing is in the ledger now. */
  charged(payerId: string, amountPicoUsd: PicoUsd): void {
    const credit = this.credits.get(payerId);
    if (credit === undefined) return;
    const pendingPicoUsd = credit.pendingPicoUsd - amountPicoUsd;
    credit.pendingPicoUsd = pendingPicoUsd > 0n ? pendingPicoUsd : 0n;
    credit.chargedPicoUsd += amountPicoUsd;
  }

  /** Returns whether the ledger is to be read for this payer now; true once in `REREAD_AFTER_MS`. */
  takeReread(payerId: string): boolean {
    const credit = this.credits.get(payerId);
    if (credit === undefined || this.nowMs() < credit.rereadAtMs) return false;
    credit.rereadAtMs = this.nowMs() + REREAD_AFTER_MS;
    return true;
  }

  /** Notes that the value is out of date. What is under way is still counted. */
  forget(payerId: string): void {
    const credit = this.credits.get(payerId);
    if (credit !== undefined) credit.readAtMs = -Infinity;
  }
}
