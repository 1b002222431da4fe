import type { Socket } from 'node:net';
import { AppError } from '@libs/errors';
import type { SharedPool } from '@libs/contracts';
import { counter } from '@libs/platform';
import type { EdgePools } from './edge-pools';
import type { CallMemory } from './fetched-bytes';

const refusals = counter({
  name: 'sluice_http_refused_total',
  help: 'Requests refused because this process has no room for them',
  labelNames: ['reason'],
});

/** To whom the slots and the memory of a request are charged. */
export interface Claimant {
  /** True if the request has no credential; such requests have separate slots. */
  readonly isPublic: boolean;
  /** The narrowest first: a workspace and its organization; for public requests, the source address twice. */
  readonly holders: readonly string[];
}

/**
 * Everything that one request has taken from the pools of its process: a slot while its body arrives, then one while it
 * runs, memory, and protection of its connection from being closed. All of it is released when the request is over;
 * later calls take nothing.
 */
export class RequestClaim implements CallMemory {
  #place: SharedPool | null = null;
  #holders: readonly string[] = [];
  /** Bytes reserved for its bodies. */
  #bytes = 0;
  /** Bytes reserved for fetched content. */
  #added = 0;
  /** Bytes reserved for the part of the answer that was written but not yet read. */
  #unread = 0;
  #isOver = false;
  #isBeyondRoom = false;

  /** @param socket the connection of the request */
  constructor(
    private readonly pools: EdgePools,
    private readonly socket: Socket | null = null,
  ) {}

  /** Takes a slot for a request whose body has yet to arrive. @throws AppError provider_overloaded */
  arrive(claimant: Claimant): void {
    const { arriving, publicArriving } = this.pools;
    const isIn = this.#move(claimant.isPublic ? publicArriving : arriving, claimant);
    if (!isIn) throw overloaded('arriving', 'too many request bodies are arriving');
  }

  /** Takes a slot for a request that can run. @throws AppError provider_overloaded */
  work(claimant: Claimant): void {
    const { working, publicWorking } = this.pools;
    const isIn = this.#move(claimant.isPublic ? publicWorking : working, claimant);
    if (!isIn) throw overloaded('in_flight', 'too many requests are in flight');
  }

  /**
   * Raises the request's reservation to at least this many bytes. Returns undefined if that succeeds at once, otherwise
   * a promise.
   * @throws AppError provider_overloaded if there is no room within a short time, at once or by the promise
   */
  reserve({ holders }: Claimant, bytes: number): Promise<void> | undefined {
    const missing = this.pools.memory.most(bytes) - this.#bytes;
    if (missing <= 0 || this.#isOver) return undefined;
    this.#holders = holders;
    if (!this.pools.memory.take(holders, missing)) {
      return this.#wait(missing, 'the request body', () => (this.#bytes += missing));
    }
    this.#bytes += missing;
    return undefined;
  }

  /**
   * Like `reserve`, for a body that has arrived, and for the memory of its parsed values in addition to its copies. It
   * may hold a part while it waits for the rest. It is refused permanently if its workspace could never have that much.
   * @throws AppError payload_too_large, at once; provider_overloaded
   */
  reserveParsed(claimant: Claimant, bytes: number, extraBytes: number): Promise<void> | undefined {
    if (extraBytes > 0) this.#refuseWhatNeverFits(bytes + extraBytes);
    return this.reserve(claimant, bytes + extraBytes);
  }

  /** Like `reserve`, for a body without a length, as it arrives. It already holds memory, so it never waits. */
  grow({ holders }: Claimant, bytes: number): void {
    const missing = bytes - this.#bytes;
    if (missing <= 0 || this.#isOver) return;
    this.#holders = holders;
    if (!this.pools.memory.take(holders, missing)) {
      this.#refuseWhatNeverFits(bytes);
      throw outOfMemory('the request body');
    }
    this.#bytes += missing;
  }

  /** Refuses what never fits: a request that already holds memory gets more only within the share of its workspace. */
  #refuseWhatNeverFits(bytes: number): void {
    if (bytes > this.pools.memory.mostOfOne) {
      throw new AppError('payload_too_large', 'The request body needs more memory than one workspace may hold');
    }
  }

  /**
   * Raises the reservation to at least this many bytes, even if there is no room: an answer that was paid for is
   * already in memory. Until its caller has read it, its workspace can reserve less.
   */
  keep(bytes: number): void {
    const missing = bytes - this.#bytes;
    if (missing <= 0 || this.#isOver) return;
    this.#takeAnyhow(missing);
    this.#bytes += missing;
  }

  /** Counts the part of an answer that was written and is still in memory, because its caller has not read it yet. */
  unread(bytes: number): void {
    const more = (this.#isOver ? 0 : bytes) - this.#unread;
    if (more > 0) this.#takeAnyhow(more);
    else if (more < 0) this.pools.memory.give(this.#holders, -more);
    this.#unread += more;
    if (this.#unread === 0) this.#isBeyondRoom = false;
  }

  #takeAnyhow(bytes: number): void {
    const { memory } = this.pools;
    if (memory.take(this.#holders, bytes)) return;
    memory.force(this.#holders, bytes);
    this.#isBeyondRoom = true;
  }

  /**
   * Reserves more bytes for downloaded content. Requests that each hold a part may wait for each other, but not for
   * long: a download that is refused releases its part.
   * @throws AppError provider_overloaded if there is no room within a short time, at once or by the promise
   */
  add(bytes: number): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (!this.pools.memory.take(this.#holders, bytes)) {
      return this.#wait(bytes, 'what is fetched', () => (this.#added += bytes));
    }
    this.#added += bytes;
    return undefined;
  }

  /** Gives bytes back, at most as many as were added. */
  give(bytes: number): void {
    const given = Math.min(bytes, this.#added);
    if (given <= 0) return;
    this.#added -= given;
    this.pools.memory.give(this.#holders, given);
  }

  /** Returns the most that one workspace may reserve. */
  get mostBytes(): number {
    return this.pools.memory.mostOfOne;
  }

  /** Returns the narrowest holder; empty before the request has taken anything. */
  get holder(): string {
    return this.#holders[0] ?? '';
  }

  /** Returns whether it keeps an answer for which there was no room. */
  get isBeyondRoom(): boolean {
    return this.#isBeyondRoom;
  }

  /** Bytes that all requests of its workspace have reserved. */
  get bytesOfWorkspace(): number {
    return this.pools.memory.heldBy(this.#holders);
  }

  /**
   * Releases the memory of the bodies except this many bytes while the request continues. Downloaded content stays
   * reserved.
   */
  freeMemory(keptBytes = 0): void {
    const bytes = this.#bytes - keptBytes;
    if (bytes <= 0) return;
    this.#bytes = keptBytes;
    this.pools.memory.give(this.#holders, bytes);
  }

  /** Frees the slot of a request whose answer consists of shared bytes, so that a slow reader does not keep it. */
  worked(): void {
    this.#leavePlace();
  }

  release(): void {
    this.#isOver = true;
    this.freeMemory();
    this.unread(0);
    this.give(this.#added);
    this.#leavePlace();
  }

  async #wait(bytes: number, what: string, onGranted: () => void): Promise<void> {
    const holders = this.#holders;
    if (!(await this.pools.memory.wait(holders, bytes))) throw outOfMemory(what);
    // The caller may have left meanwhile.
    if (this.#isOver) this.pools.memory.give(holders, bytes);
    else onGranted();
  }

  #move(pool: SharedPool, { isPublic, holders }: Claimant): boolean {
    if (this.#isOver) return true;
    if (!pool.take(holders)) return false;
    if (!isPublic && this.socket !== null) this.pools.connections.protect(this.socket);
    this.#leavePlace();
    this.#place = pool;
    this.#holders = holders;
    return true;
  }

  #leavePlace(): void {
    this.#place?.give(this.#holders);
    this.#place = null;
  }
}

function outOfMemory(what: string): AppError {
  return overloaded('memory', `there is no memory for ${what}`);
}

export type RefusalReason = 'arriving' | 'in_flight' | 'memory' | 'connections' | 'pipelined' | 'credits';

export function countRefusal(reason: RefusalReason): void {
  refusals.inc({ reason });
}

function overloaded(reason: RefusalReason, internal: string): AppError {
  countRefusal(reason);
  return new AppError('provider_overloaded', 'The service is overloaded', { retryAfterSeconds: 1, internal });
}
