import { parseUsd, type PicoUsd } from '@libs/inference';
import type { GenerationOpening, OpeningVerdict } from '@libs/persistence';
import { KnownCredits } from './known-credits';

/** Whose money a call takes. */
export type Payer = Pick<GenerationOpening, 'organizationId' | 'apiKeyHash' | 'keyLimit'>;

export type Granted = Extract<OpeningVerdict, { readonly refusedBy: null }>;

/**
 * What callers could spend when the books were last asked: the credits of their organizations, and what was left
 * of the limits of their keys. A limit that was changed is another limit, of which nothing is known yet.
 */
export class CallerCredits {
  private readonly organizations: KnownCredits;
  private readonly limits: KnownCredits;

  constructor(nowMs: () => number) {
    this.organizations = new KnownCredits(nowMs);
    this.limits = new KnownCredits(nowMs);
  }

  /** Whether the hold is so clearly covered that nobody needs to wait for it. */
  covers(payer: Payer, holdPicoUsd: PicoUsd): boolean {
    const limit = limitOf(payer);
    return (
      this.organizations.covers(payer.organizationId, holdPicoUsd) &&
      (limit === null || this.limits.covers(limit, holdPicoUsd))
    );
  }

  /** What the books said just now. */
  learn(payer: Payer, { availableUsd, keyLeftUsd }: Granted): void {
    this.organizations.learn(payer.organizationId, parseUsd(availableUsd));
    const limit = limitOf(payer);
    if (limit !== null && keyLeftUsd !== null) this.limits.learn(limit, parseUsd(keyLeftUsd));
  }

  /** A call has started ahead of its hold; with a negative amount, its hold is on the books or not needed. */
  started(payer: Payer, holdPicoUsd: PicoUsd): void {
    this.organizations.started(payer.organizationId, holdPicoUsd);
    const limit = limitOf(payer);
    if (limit !== null) this.limits.started(limit, holdPicoUsd);
  }

  spent(payer: Payer, amountPicoUsd: PicoUsd): void {
    this.organizations.spent(payer.organizationId, amountPicoUsd);
    const limit = limitOf(payer);
    if (limit !== null) this.limits.spent(limit, amountPicoUsd);
  }

  /** A hold was refused: whatever is known of its payer is out of date. */
  forget(payer: Payer): void {
    this.organizations.forget(payer.organizationId);
    const limit = limitOf(payer);
    if (limit !== null) this.limits.forget(limit);
  }
}

function limitOf({ apiKeyHash, keyLimit }: Payer): string | null {
  if (keyLimit === null) return null;
  return `${apiKeyHash} ${keyLimit.amountUsd} ${keyLimit.reset} ${keyLimit.includesByok}`;
}
