import { SharedPool } from '@libs/contracts';
import type { OutsideWork } from './outside-work';
import type { ParserName } from './parser-process';

export interface PlaceLimits {
  /** Tasks at once. */
  readonly maxProcesses: number;
  /** Tasks of one parser at once, so that one kind of file leaves slots to others. */
  readonly maxPerParser: number;
  /** Tasks that may wait for a slot; more are refused. */
  readonly maxWaiting: number;
  /** How long a task may wait. */
  readonly maxWaitMs: number;
}

/** The owner of a task, and the signal that ends its wait. */
export type PlaceWork = Pick<OutsideWork, 'holders' | 'signal'>;

/** Weights of waiting tasks (SharedPool): workspace, organization. */
const WEIGHTS = [2, 3] as const;

interface Waiting {
  readonly parser: ParserName;
  readonly holders: readonly string[];
  /** Called once: with false if the task has waited too long or its caller has disconnected. */
  readonly enter: (mayEnter: boolean) => void;
}

/** A workspace or an organization while it has tasks. */
interface Holder {
  tasks: number;
  /** Number of the turn in which it was last served; 0 if it was not. */
  servedAt: number;
}

/**
 * Slots of running parser tasks, and the queue of waiting ones.
 *
 * A free slot goes to the least recently served organization, then to its least recently served workspace, then to the
 * oldest task. A tenant with many slow files delays others by one of them, not by all.
 */
export class ParserPlaces {
  readonly #running = new Map<ParserName, number>();
  readonly #waiting = new Set<Waiting>();
  readonly #waitingPlaces: SharedPool;
  readonly #holders = new Map<string, Holder>();
  #turns = 0;
  #isClosed = false;

  constructor(private readonly limits: PlaceLimits) {
    this.#waitingPlaces = new SharedPool(limits.maxWaiting, WEIGHTS);
  }

  /** Number of workspaces and organizations with tasks. */
  get remembered(): number {
    return this.#holders.size;
  }

  /** Resolves with true when the task has a slot, with false if it must not run. */
  async enter(parser: ParserName, { holders, signal }: PlaceWork): Promise<boolean> {
    if (this.#isClosed || signal.aborted) return false;
    if (this.#hasRoom(parser)) {
      this.#come(holders);
      this.#serve(parser, holders);
      return true;
    }
    if (!this.#waitingPlaces.take(holders)) return false;
    this.#come(holders);
    return await this.#wait(parser, holders, signal);
  }

  /** Releases a slot and gives it to the next waiting task. */
  leave(parser: ParserName, { holders }: PlaceWork): void {
    this.#count(parser, -1);
    this.#go(holders);
    const next = this.#next();
    if (next === null) return;
    this.#serve(next.parser, next.holders);
    next.enter(true);
  }

  /** Refuses all waiting and later tasks. */
  close(): void {
    this.#isClosed = true;
    for (const { enter } of this.#waiting) enter(false);
  }

  #wait(parser: ParserName, holders: readonly string[], signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = (): void => waiting.enter(false);
      const timer = setTimeout(giveUp, this.limits.maxWaitMs);
      const enter = (mayEnter: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#waiting.delete(waiting);
        this.#waitingPlaces.give(holders);
        if (!mayEnter) this.#go(holders);
        resolve(mayEnter);
      };
      const waiting: Waiting = { parser, holders, enter };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(waiting);
    });
  }

  #next(): Waiting | null {
    let next: Waiting | null = null;
    for (const waiting of this.#waiting) {
      if (!this.#hasRoom(waiting.parser)) continue;
      if (next === null || this.#isBefore(waiting.holders, next.holders)) next = waiting;
    }
    return next;
  }

  /** Returns whether the first was served less recently than the second. */
  #isBefore(some: readonly string[], others: readonly string[]): boolean {
    for (let i = some.length - 1; i >= 0; i -= 1) {
      const difference = this.#servedAt(some[i]!) - this.#servedAt(others[i]!);
      if (difference !== 0) return difference < 0;
    }
    return false;
  }

  #servedAt(holder: string): number {
    return this.#holders.get(holder)?.servedAt ?? 0;
  }

  #hasRoom(parser: ParserName): boolean {
    const { maxProcesses, maxPerParser } = this.limits;
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0);
    return all < maxProcesses && (this.#running.get(parser) ?? 0) < maxPerParser;
  }

  #serve(parser: ParserName, holders: readonly string[]): void {
    this.#count(parser, 1);
    this.#turns += 1;
    for (const name of holders) this.#holders.get(name)!.servedAt = this.#turns;
  }

  #count(parser: ParserName, change: number): void {
    this.#running.set(parser, (this.#running.get(parser) ?? 0) + change);
  }

  #come(holders: readonly string[]): void {
    for (const name of holders) {
      const holder = this.#holders.get(name) ?? { tasks: 0, servedAt: 0 };
      holder.tasks += 1;
      this.#holders.set(name, holder);
    }
  }

  #go(holders: readonly string[]): void {
    for (const name of holders) {
      const holder = this.#holders.get(name)!;
      holder.tasks -= 1;
      if (holder.tasks === 0) this.#holders.delete(name);
    }
  }
}
