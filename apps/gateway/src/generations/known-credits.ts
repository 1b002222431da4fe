import type { PicoUsd } from '@libs/inference';

interface Credit {
  availablePicoUsd: PicoUsd;
  /** Holds of calls that have started but are not on the books yet. */
  startedPicoUsd: PicoUsd;
  knownAtMs: number;
}

const MOST_ORGANIZATIONS = 10_000;
/** Another process may have spent it meanwhile. */
const FRESH_FOR_MS = 10_000;
const LEAST_COMFORT_PICO_USD = 1_000_000_000_000n;
const COMFORT_FACTOR = 20n;

/**
 * What organizations could spend when the books were last asked, carried forward by what this process did
 * since. A guess that decides whether a call waits for its hold, never whether it is paid for.
 */
export class KnownCredits {
  private readonly credits = new Map<string, Credit>();

  constructor(private readonly nowMs: () => number) {}

  /** Whether the organization can so clearly cover the hold that nobody needs to wait for it. */
  covers(organizationId: string, holdPicoUsd: PicoUsd): boolean {
    const credit = this.credits.get(organizationId);
    if (credit === undefined || this.nowMs() - credit.knownAtMs > FRESH_FOR_MS) return false;
    const wanted = COMFORT_FACTOR * holdPicoUsd;
    const comfort = wanted > LEAST_COMFORT_PICO_USD ? wanted : LEAST_COMFORT_PICO_USD;
    return credit.availablePicoUsd - credit.startedPicoUsd >= comfort;
  }

  /** What the books said just now. */
  learn(organizationId: string, availablePicoUsd: PicoUsd): void {
    const startedPicoUsd = this.credits.get(organizationId)?.startedPicoUsd ?? 0n;
    this.credits.delete(organizationId);
    this.credits.set(organizationId, { availablePicoUsd, startedPicoUsd, knownAtMs: this.nowMs() });
    if (this.credits.size > MOST_ORGANIZATIONS) this.credits.delete(this.credits.keys().next().value!);
  }

  /** A call has started ahead of its hold; with a negative amount, its hold is on the books or not needed. */
  started(organizationId: string, holdPicoUsd: PicoUsd): void {
    const credit = this.credits.get(organizationId);
    if (credit === undefined) return;
    const startedPicoUsd = credit.startedPicoUsd + holdPicoUsd;
    credit.startedPicoUsd = startedPicoUsd > 0n ? startedPicoUsd : 0n;
  }

  spent(organizationId: string, amountPicoUsd: PicoUsd): void {
    const credit = this.credits.get(organizationId);
    if (credit !== undefined) credit.availablePicoUsd -= amountPicoUsd;
  }

  forget(organizationId: string): void {
    this.credits.delete(organizationId);
  }
}
