import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@libs/errors';
import { callAbandoned, Cancellation, isAbandoned, toAbortSignal } from '../model/cancellation';
import { noteAnsweredPart } from './answered-part';
import type { UpstreamCall, UpstreamResult } from './upstream-call';
import { isUpstreamFault } from './upstream-fault';

/** How one request is split into several upstream calls. */
export interface SplitRequest<Item, Result> {
  readonly items: readonly Item[];
  readonly mostAtOnce: number;
  /** Number of the request's inputs that the item contains. */
  inputsOf(item: Item): number;
  ask(item: Item, call: UpstreamCall): Promise<Result>;
  /** Joins results into one answer: all of them in the order of the items, or those before a failure. */
  join(results: readonly Result[]): UpstreamResult;
}

/** How often a call that failed at its provider is repeated if the results of other calls would be lost. */
const MOST_REPEATS = 2;
const LONGEST_WAIT_MS = 10_000;
const USUAL_WAIT_MS = 500;

/** Makes several upstream calls for one request, a few at a time. They share the time limit of the request. */
export function callInOrder<Item, Result>(
  request: SplitRequest<Item, Result>,
  call: UpstreamCall,
): Promise<UpstreamResult> {
  return new OrderedCalls(request, call).answer();
}

class OrderedCalls<Item, Result> {
  readonly #endMs: number;
  readonly #signal: Cancellation;
  readonly #results: Result[] = [];
  #next = 0;
  #failure: { readonly thrown: unknown } | null = null;

  constructor(
    private readonly request: SplitRequest<Item, Result>,
    private readonly call: UpstreamCall,
  ) {
    this.#endMs = performance.now() + call.timeouts.totalMs;
    this.#signal = Cancellation.following(call.signal);
  }

  async answer(): Promise<UpstreamResult> {
    const { items, mostAtOnce } = this.request;
    await Promise.all(Array.from({ length: Math.min(mostAtOnce, items.length) }, () => this.#work()));
    this.#signal.abort();
    if (this.#failure === null) return this.#joined(this.#results);
    throw this.#withPart(this.#failure.thrown);
  }

  async #work(): Promise<void> {
    const { items } = this.request;
    try {
      while (this.#next < items.length && this.#failure === null) {
        // The provider has already worked on a part of the request, so that part is charged.
        if (this.#hasLeft && this.#hasResults) throw callAbandoned();
        const index = this.#next;
        this.#next += 1;
        this.#results[index] = await this.#resultOf(items[index]!);
      }
    } catch (thrown) {
      this.#failure ??= { thrown };
      // The provider charges running calls. If the request is refused, the results of these calls are awaited and
      // charged too.
      if (!isRefusal(thrown)) this.#signal.abort();
    }
  }

  async #resultOf(item: Item): Promise<Result> {
    for (let repeats = 0; ; repeats += 1) {
      const totalMs = Math.max(1, this.#endMs - performance.now());
      const { timeouts } = this.call;
      try {
        return await this.request.ask(item, {
          ...this.call,
          signal: this.#signal,
          timeouts: { ...timeouts, totalMs },
        });
      } catch (thrown) {
        const waitMs = this.#waitAfter(thrown, repeats);
        if (waitMs === null) throw thrown;
        await this.#wait(waitMs, thrown);
      }
    }
  }

  /** @throws `failure` if another call has failed in the meantime */
  async #wait(waitMs: number, failure: unknown): Promise<void> {
    try {
      await sleep(waitMs, undefined, { signal: toAbortSignal(this.#signal) });
    } catch {
      throw this.#hasLeft ? callAbandoned() : failure;
    }
  }

  /** Returns how long to wait before a failed call is repeated; null if it is not repeated. */
  #waitAfter(thrown: unknown, repeats: number): number | null {
    if (!(thrown instanceof AppError) || !isUpstreamFault(thrown) || !thrown.retryable) return null;
    if (repeats >= MOST_REPEATS || !this.#hasResults || this.#isEnding) return null;
    const waitMs = thrown.retryAfterSeconds === undefined ? USUAL_WAIT_MS : thrown.retryAfterSeconds * 1_000;
    return waitMs <= LONGEST_WAIT_MS && performance.now() + waitMs < this.#endMs ? waitMs : null;
  }

  get #isEnding(): boolean {
    return this.#failure !== null || this.#signal.aborted;
  }

  get #hasLeft(): boolean {
    return this.#signal.leaveTerms !== null && this.#signal.aborted;
  }

  get #hasResults(): boolean {
    return this.#results.length > 0;
  }

  /** A call whose caller has disconnected is charged as reserved, because running calls have returned no results. */
  #withPart(thrown: unknown): unknown {
    const came = this.#results.filter((result) => result !== undefined);
    if (came.length === 0 || !(thrown instanceof AppError) || isAbandoned(thrown)) return thrown;
    return noteAnsweredPart(thrown, () => {
      const answered = this.request.items.flatMap((item, index) =>
        Array.from({ length: this.request.inputsOf(item) }, () => this.#results[index] !== undefined),
      );
      return { body: this.#joined(came).body, calls: came.length, hasInput: (index) => answered[index] === true };
    });
  }

  #joined(results: readonly Result[]): UpstreamResult {
    return { ...this.request.join(results), calls: results.length };
  }
}

/** Returns whether the provider refuses the caller's input. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof AppError && isUpstreamFault(thrown) && !thrown.retryable;
}

/**
 * Splits the items into lists of at most this many items and bytes; a list has more bytes only if one item alone does.
 */
export function batchesOf<Item>(
  items: readonly Item[],
  mostItems: number,
  mostBytes = Number.POSITIVE_INFINITY,
  bytesOf: (item: Item) => number = () => 0,
): Item[][] {
  const batches: Item[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    const last = batches.at(-1);
    if (last === undefined || last.length === mostItems || bytes + size > mostBytes) {
      batches.push([item]);
      bytes = size;
    } else {
      last.push(item);
      bytes += size;
    }
  }
  return batches;
}
