/** The amounts that holders of one kind (workspaces, organizations, source addresses) have taken of a pool. */
class HeldShares {
  readonly #held = new Map<string, number>();

  /** @param smallAmount a holder that has nothing yet may take so much, however little is left then */
  constructor(
    private readonly weight: number,
    private readonly smallAmount: number,
  ) {}

  /** @param left remaining amount of the pool after the amount is taken */
  allows(holder: string, amount: number, left: number): boolean {
    const held = this.of(holder);
    return (held === 0 && amount <= this.smallAmount) || held + amount <= this.weight * left;
  }

  of(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Returns how many more, one by one, a holder with `held` may take. */
  room(held: number, left: number): number {
    const share = Math.floor((this.weight * left - held) / (1 + this.weight));
    return Math.min(left, Math.max(held === 0 ? 1 : 0, share));
  }

  rooms(left: number): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#held].map(([holder, held]) => [holder, this.room(held, left)]));
  }

  add(holder: string, amount: number): void {
    const held = this.of(holder) + amount;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }
}

/** How many more slots the holders of one kind may take, one by one, while no other takes any. */
export interface Rooms {
  /** For holders that already hold something. */
  readonly of: Readonly<Record<string, number>>;
  readonly newcomer: number;
}

/**
 * An amount of something that callers share: slots for requests, or bytes of memory.
 *
 * A holder may take more as long as it then holds at most `weight` times what is left for all others (the dynamic
 * thresholds of shared-memory switches). One holder alone gets weight / (weight + 1) of the pool. The more holders
 * there are, the less each gets, and something is left for the next one. A holder that has nothing yet may take
 * anything that is left, or only as much as `smallAmount` without leaving a share for others. Nothing is taken away from
 * holders: their share decreases as they give back.
 */
export class SharedPool {
  readonly #shares: readonly HeldShares[];
  #taken = 0;

  /** @param weights for each name in `holders`: the first belongs to the first name, and so on */
  constructor(
    readonly size: number,
    weights: readonly number[],
    smallAmount: number = size,
  ) {
    this.#shares = weights.map((weight) => new HeldShares(weight, smallAmount));
  }

  get taken(): number {
    return this.#taken;
  }

  /** Returns what the narrowest of the holders has taken. */
  heldBy([holder = '']: readonly string[]): number {
    return this.#shares[0]?.of(holder) ?? 0;
  }

  /** Returns what the holders of each kind may take, in the order of the weights. */
  rooms(): readonly Rooms[] {
    const left = this.size - this.#taken;
    return this.#shares.map((share) => ({ of: share.rooms(left), newcomer: share.room(0, left) }));
  }

  /** Whether all of `holders` may take the amount. */
  allows(holders: readonly string[], amount = 1): boolean {
    const left = this.size - this.#taken - amount;
    if (left < 0) return false;
    for (let i = 0; i < this.#shares.length; i += 1) {
      if (!this.#shares[i]!.allows(holders[i]!, amount, left)) return false;
    }
    return true;
  }

  /** Takes the amount for all of `holders`, or returns false and takes nothing. */
  take(holders: readonly string[], amount = 1): boolean {
    if (!this.allows(holders, amount)) return false;
    this.#add(holders, amount);
    return true;
  }

  /** Takes the amount, whatever is left. */
  force(holders: readonly string[], amount: number): void {
    this.#add(holders, amount);
  }

  give(holders: readonly string[], amount = 1): void {
    this.#add(holders, -amount);
  }

  #add(holders: readonly string[], amount: number): void {
    this.#taken += amount;
    for (let i = 0; i < this.#shares.length; i += 1) this.#shares[i]!.add(holders[i]!, amount);
  }
}
