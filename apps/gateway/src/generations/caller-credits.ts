import { parseUsd, type PicoUsd } from '@libs/inference';
import type { GenerationOpening, OpeningVerdict, SpendingLimit } from '@libs/persistence';
import type { GenerationTicket } from './generation-ticket';
import { KnownCredits } from './known-credits';

/** The organization, workspace and key whose money a call uses. */
export type Payer = Pick<GenerationOpening, 'organizationId' | 'workspaceId' | 'apiKeyHash' | 'keyLimit' | 'budgets'>;

export type Granted = Extract<OpeningVerdict, { readonly refusedBy: null }>;

type CallFacts = Pick<GenerationTicket, 'isAhead' | 'state' | 'opening' | 'holdPicoUsd' | 'mostPicoUsd'>;

/** What was charged of payers before the ledger was asked about them. */
export interface LedgerMark {
  readonly organization: PicoUsd;
  readonly limit: PicoUsd;
  readonly budget: PicoUsd;
}

interface Uncharged {
  readonly payer: Payer;
  readonly amountPicoUsd: PicoUsd;
  readonly byokPicoUsd: PicoUsd;
}

/**
 * Remembers what callers could spend when the ledger was last read: the credits of their organizations, the rest of the
 * limits of their keys and of the budgets of their workspaces. A changed limit is treated as a new one, about which
 * nothing is known yet.
 */
export class CallerCredits {
  private readonly organizations: KnownCredits;
  private readonly limits: KnownCredits;
  private readonly budgets: KnownCredits;
  /** By the id of the call, as many as charges may wait. */
  private readonly uncharged = new Map<string, Uncharged>();

  constructor(nowMs: () => number) {
    this.organizations = new KnownCredits(nowMs);
    this.limits = new KnownCredits(nowMs);
    this.budgets = new KnownCredits(nowMs);
  }

  /** Returns whether the known credits exceed the hold so clearly that the call need not wait for it. */
  covers(payer: Payer, holdPicoUsd: PicoUsd): boolean {
    const limit = limitOf(payer);
    const budget = budgetOf(payer);
    return (
      this.organizations.covers(payer.organizationId, holdPicoUsd) &&
      (limit === null || this.limits.covers(limit, holdPicoUsd)) &&
      (budget === null || this.budgets.covers(budget, holdPicoUsd))
    );
  }

  /** Returns what to pass to `learn` with the verdict on a hold that is sent to the ledger now. */
  beforeReading(payer: Payer): LedgerMark {
    const limit = limitOf(payer);
    const budget = budgetOf(payer);
    return {
      organization: this.organizations.beforeReading(payer.organizationId),
      limit: limit === null ? 0n : this.limits.beforeReading(limit),
      budget: budget === null ? 0n : this.budgets.beforeReading(budget),
    };
  }

  /** Notes what the ledger said. */
  learn(payer: Payer, { availableUsd, keyLeftUsd, workspaceLeftUsd = null }: Granted, before: LedgerMark): void {
    this.organizations.learn(payer.organizationId, parseUsd(availableUsd), before.organization);
    const limit = limitOf(payer);
    if (limit !== null && keyLeftUsd !== null) this.limits.learn(limit, parseUsd(keyLeftUsd), before.limit);
    const budget = budgetOf(payer);
    if (budget !== null && workspaceLeftUsd !== null) {
      this.budgets.learn(budget, parseUsd(workspaceLeftUsd), before.budget);
    }
  }

  /** Notes that the hold of a call is written or not needed, if it started before that. */
  noLongerAhead({ isAhead, opening, mostPicoUsd }: CallFacts): void {
    // What it started with, because an extension is noted as spent.
    if (isAhead) this.started(opening, -mostPicoUsd);
  }

  /** Notes a call that started before its hold was written; negative after the hold is written or not needed. */
  started(payer: Payer, holdPicoUsd: PicoUsd): void {
    this.organizations.started(payer.organizationId, holdPicoUsd);
    const limit = limitOf(payer);
    if (limit !== null) this.limits.started(limit, holdPicoUsd);
    const budget = budgetOf(payer);
    if (budget !== null) this.budgets.started(budget, holdPicoUsd);
  }

  /**
   * Notes the charge of a call whose hold was sent to the ledger.
   * @param byokPicoUsd see `spent`
   */
  spentBy(call: CallFacts, amountPicoUsd: PicoUsd, byokPicoUsd: PicoUsd): void {
    const { opening, state, holdPicoUsd } = call;
    if (state === 'open') return this.spent(opening, amountPicoUsd - holdPicoUsd, byokPicoUsd);
    if (state === 'unknown') this.noLongerAhead(call);
    this.spentWithoutHold(opening, amountPicoUsd, byokPicoUsd);
  }

  /** @param byokPicoUsd amount that the caller's own provider charged in addition, which some limits count */
  spent(payer: Payer, amountPicoUsd: PicoUsd, byokPicoUsd: PicoUsd = 0n): void {
    this.note('spent', payer, amountPicoUsd, byokPicoUsd);
  }

  /** The same for a call whose hold is not known to be written. It counts until `charged` is called with its id. */
  spentWithoutHold(call: Payer & { readonly id: string }, amountPicoUsd: PicoUsd, byokPicoUsd: PicoUsd): void {
    this.uncharged.set(call.id, { payer: call, amountPicoUsd, byokPicoUsd });
    this.note('spentWithoutHold', call, amountPicoUsd, byokPicoUsd);
  }

  /** Notes that the charge of a call is in the ledger. */
  charged({ id }: { readonly id: string }): void {
    const call = this.uncharged.get(id);
    if (call === undefined) return;
    this.uncharged.delete(id);
    this.note('charged', call.payer, call.amountPicoUsd, call.byokPicoUsd);
  }

  private note(how: 'spent' | 'spentWithoutHold' | 'charged', payer: Payer, amount: PicoUsd, byok: PicoUsd): void {
    this.organizations[how](payer.organizationId, amount);
    const limit = limitOf(payer);
    const counted = amount + byok;
    if (limit !== null) this.limits[how](limit, payer.keyLimit?.includesByok === true ? counted : amount);
    const budget = budgetOf(payer);
    const isCounted = payer.budgets?.some(({ includesByok }) => includesByok) === true;
    if (budget !== null) this.budgets[how](budget, isCounted ? counted : amount);
  }

  /** Returns whether a hold of the payer is to be written soon, because that reads the ledger. */
  takeReread(payer: Payer): boolean {
    const limit = limitOf(payer);
    const budget = budgetOf(payer);
    const due = [
      this.organizations.takeReread(payer.organizationId),
      limit !== null && this.limits.takeReread(limit),
      budget !== null && this.budgets.takeReread(budget),
    ];
    return due.includes(true);
  }

  /** Removes the payer of a refused hold, whose known credits are out of date. */
  forget(payer: Payer): void {
    this.organizations.forget(payer.organizationId);
    const limit = limitOf(payer);
    if (limit !== null) this.limits.forget(limit);
    const budget = budgetOf(payer);
    if (budget !== null) this.budgets.forget(budget);
  }
}

function limitOf({ apiKeyHash, keyLimit }: Payer): string | null {
  return keyLimit === null ? null : nameOf(apiKeyHash, keyLimit);
}

function budgetOf({ workspaceId, budgets }: Payer): string | null {
  return budgets === undefined ? null : budgets.map((budget) => nameOf(workspaceId, budget)).join();
}

function nameOf(whose: string, { amountUsd, reset, includesByok }: SpendingLimit): string {
  return `${whose} ${amountUsd} ${reset} ${includesByok}`;
}
