import type { CallMemory } from '../http/fetched-bytes';

/** A part of the memory of a call. */
class HeldMemory implements CallMemory {
  #held = 0;

  constructor(private readonly memory: CallMemory) {}

  get holder(): string {
    return this.memory.holder;
  }

  add(bytes: number): Promise<void> | undefined {
    const waits = this.memory.add(bytes);
    if (waits === undefined) this.#held += bytes;
    return waits?.then(() => void (this.#held += bytes));
  }

  give(bytes: number): void {
    const given = Math.min(bytes, this.#held);
    this.#held -= given;
    this.memory.give(given);
  }

  /** Takes over the memory of another part and changes the total to exactly this many bytes. */
  async settle(bytes: number, other: HeldMemory): Promise<void> {
    this.#held += other.#held;
    other.#held = 0;
    const missing = bytes - this.#held;
    if (missing > 0) await this.add(missing);
    else this.give(-missing);
  }
}

/** The memory of a call that is answered in several turns, in addition to that of its request. */
export class LoopMemory {
  readonly #ofTurns: HeldMemory;
  #ofTools: HeldMemory;

  constructor(private readonly memory: CallMemory) {
    this.#ofTurns = new HeldMemory(memory);
    this.#ofTools = new HeldMemory(memory);
  }

  /** Returns the memory for the tools of one turn. `settle` takes over what they hold at that time. */
  beginTools(): CallMemory {
    this.#ofTools = new HeldMemory(this.memory);
    return this.#ofTools;
  }

  /**
   * Reserves exactly this many bytes from now on, instead of what turns and their tools held.
   * @throws AppError provider_overloaded if there is no room within a short time
   */
  async settle(bytes: number): Promise<void> {
    await this.#ofTurns.settle(bytes, this.#ofTools);
  }
}
