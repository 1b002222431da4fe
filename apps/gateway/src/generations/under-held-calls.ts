import type { PicoUsd } from '@libs/inference';
import type { GenerationOpening, HoldRefusal } from '@libs/persistence';

type Call = Pick<GenerationOpening, 'organizationId' | 'id' | 'apiKeyHash' | 'workspaceId'>;
type CallName = Pick<Call, 'organizationId' | 'id'>;

/**
 * A shared fund must be at least this many times what such calls may cost beyond their holds, because other calls use
 * it too.
 */
const COMFORT_FACTOR = 20n;
/** Most calls of one organization that wait for their turn. */
const MOST_WAITING = 32;

/** Why a call cannot hold the most that it may cost. */
export interface Shortage {
  /** What the call may cost beyond its hold. */
  readonly lackPicoUsd: PicoUsd;
  readonly by: HoldRefusal;
  /** What the organization can spend, regardless of limits; 0 if unknown. */
  readonly creditsPicoUsd: PicoUsd;
  /** Rest of the budget of its workspace; null if it has none, 0 if unknown. */
  readonly budgetPicoUsd: PicoUsd | null;
}

interface UnderHeldCall {
  readonly lackPicoUsd: PicoUsd;
  readonly by: HoldRefusal;
  readonly apiKeyHash: string;
  readonly workspaceId: string;
}

/**
 * The calls that hold less than they may cost, by organization, until their charges are committed. Each organization
 * may have one. It may have more if they are limited by different limits or budgets, and if its credits and any shared
 * workspace budget are far above what these calls may cost. Otherwise many keys with small limits could together
 * overdraw the credits or the budget.
 */
export class UnderHeldCalls {
  readonly #calls = new Map<string, Map<string, UnderHeldCall>>();
  readonly #waiting = new Map<string, Set<() => void>>();

  has({ organizationId, id }: CallName): boolean {
    return this.#calls.get(organizationId)?.has(id) === true;
  }

  /** Adds the call. Returns false if it may not hold less. */
  begin(call: Call, shortage: Shortage): boolean {
    const { organizationId, id, apiKeyHash, workspaceId } = call;
    const calls = this.#calls.get(organizationId) ?? new Map<string, UnderHeldCall>();
    const others = [...calls].filter(([other]) => other !== id).map(([, other]) => other);
    if (others.length > 0 && !isOneOfSeveral(call, shortage, others)) return false;
    const { lackPicoUsd, by } = shortage;
    this.#calls.set(organizationId, calls.set(id, { lackPicoUsd, by, apiKeyHash, workspaceId }));
    return true;
  }

  /** Removes a call whose charge is committed or that costs nothing. */
  paid({ organizationId, id }: CallName): void {
    const calls = this.#calls.get(organizationId);
    if (calls?.delete(id) !== true) return;
    if (calls.size === 0) this.#calls.delete(organizationId);
    for (const wake of this.#waiting.get(organizationId) ?? []) wake();
  }

  /**
   * Resolves when one of the organization's calls is charged, at the latest after `ms`. Returns null if too many calls
   * wait.
   */
  nextPaid(organizationId: string, ms: number): Promise<void> | null {
    const waiting = this.#waiting.get(organizationId) ?? new Set<() => void>();
    if (waiting.size >= MOST_WAITING) return null;
    this.#waiting.set(organizationId, waiting);
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(organizationId);
        resolve();
      };
      const timer = setTimeout(wake, ms).unref();
      waiting.add(wake);
    });
  }
}

function isOneOfSeveral(call: Call, shortage: Shortage, others: readonly UnderHeldCall[]): boolean {
  const { by, creditsPicoUsd, budgetPicoUsd } = shortage;
  if (by === 'credits') return false;
  const name = by === 'key_limit' ? 'apiKeyHash' : 'workspaceId';
  if (others.some((other) => other[name] === call[name])) return false;
  const ofWorkspace = others.filter(({ workspaceId }) => workspaceId === call.workspaceId);
  const budgetCovers =
    ofWorkspace.length === 0 || budgetPicoUsd === null || covers(budgetPicoUsd, ofWorkspace, shortage);
  return budgetCovers && covers(creditsPicoUsd, others, shortage);
}

/** Returns whether a fund is far above what the calls may cost beyond their holds. */
function covers(fundPicoUsd: PicoUsd, others: readonly UnderHeldCall[], { lackPicoUsd }: Shortage): boolean {
  return fundPicoUsd >= COMFORT_FACTOR * others.reduce((sum, other) => sum + other.lackPicoUsd, lackPicoUsd);
}
