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

/** Whom the places and the memory of a request count for. */
export interface Claimant {
  /** Whether no credential was shown: such requests have places of their own. */
  readonly isPublic: boolean;
  /** The narrowest first: a workspace and its organization; of public requests, the source address twice. */
  readonly holders: readonly string[];
}

/**
 * What one request has taken of the pools of its process: a place while its body arrives, then one while it is worked
 * on, memory, and protection of its connection from being closed for others. All of it is given back when the request is over; what comes later than that takes nothing.
 */
export class RequestClaim implements CallMemory {
  #place: SharedPool | null = null;
  #holders: readonly string[] = [];
  /** Bytes reserved for its bodies. */
  #bytes = 0;
  /** Bytes reserved for fetched content. */
  #added = 0;
  /** Bytes reserved for what was written and not yet read. */
  #unread = 0;
  #isOver = false;
  #isBeyondRoom = false;

  /** @param socket the connection that it came on */
  constructor(
    private readonly pools: EdgePools,
    private readonly socket: Socket | null = null,
  ) {}

  /** Takes a place for a request whose body has yet to arrive. @throws AppError provider_overloaded */
  arrive(claimant: Claimant): void {
    const { arriving, publicArriving } = this.pools;
    const isIn = this.#move(claimant.isPublic ? publicArriving : arriving, claimant);
    if (!isIn) throw overloaded('arriving', 'too many request bodies are arriving');
  }

  /** Takes a place for a request that can be worked on. @throws AppError provider_overloaded */
  work(claimant: Claimant): void {
    const { working, publicWorking } = this.pools;
    const isIn = this.#move(claimant.isPublic ? publicWorking : working, claimant);
    if (!isIn) throw overloaded('in_flight', 'too many requests are in flight');
  }

  /**
   * Makes the request's reservation at least so many bytes. Returns undefined when that is done, else a promise.
   *
   * @throws AppError provider_overloaded when there is no room within a short time, at once or by the promise
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
   * As `reserve`, for a body that has arrived, and for what its parsed values take beyond its copies. It may hold a part
   * while it waits for the rest, and is refused for good if its workspace could never have so much.
   *
   * @throws AppError payload_too_large, at once; provider_overloaded
   */
  reserveParsed(claimant: Claimant, bytes: number, extraBytes: number): Promise<void> | undefined {
    if (extraBytes > 0) this.#refuseWhatNeverFits(bytes + extraBytes);
    return this.reserve(claimant, bytes + extraBytes);
  }

  /** As `reserve`, for a body that is longer than it said: it holds memory already, so it never waits. */
  grow({ holders }: Claimant, bytes: number): void {
    const missing = this.pools.memory.most(bytes) - this.#bytes;
    if (missing <= 0 || this.#isOver) return;
    this.#holders = holders;
    if (!this.pools.memory.take(holders, missing)) {
      this.#refuseWhatNeverFits(bytes);
      throw outOfMemory('the request body');
    }
    this.#bytes += missing;
  }

  /** A request that holds some memory gets more only within the share of its workspace. */
  #refuseWhatNeverFits(bytes: number): void {
    if (bytes > this.pools.memory.mostOfOne) {
      throw new AppError('payload_too_large', 'The request body needs more memory than one workspace may hold');
    }
  }

  /**
   * Makes the reservation at least so many bytes, whether or not there is room: an answer that was paid for is there
   * already. Until its caller has read it, its workspace may reserve less.
   */
  keep(bytes: number): void {
    const missing = bytes - this.#bytes;
    if (missing <= 0 || this.#isOver) return;
    this.#takeAnyhow(missing);
    this.#bytes += missing;
  }

  /** Counts what was written of an answer and is still in memory, because its caller has yet to read it. */
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
   * Reserves more bytes for fetched content. Requests that each hold a part may wait for one another, but not for long:
   * a fetch that is refused gives its part back.
   *
   * @throws AppError provider_overloaded when there is no room within a short time, at once or by the promise
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

  /** Returns the narrowest holder of what it has taken; empty before it has taken anything. */
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

  /** Gives back the memory of the bodies but so many bytes while the request goes on. Fetched content stays reserved. */
  freeMemory(keptBytes = 0): void {
    const bytes = this.#bytes - keptBytes;
    if (bytes <= 0) return;
    this.#bytes = keptBytes;
    this.pools.memory.give(this.#holders, bytes);
  }

  /** Frees the place of a request whose answer is shared bytes, so that a slow reader does not keep it. */
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
