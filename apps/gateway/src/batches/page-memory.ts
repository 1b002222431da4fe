import { AppError } from '@libs/errors';
import type { CallMemory } from '../http/fetched-bytes';

/** Memory of one request that reads results. */
export interface ReaderMemory extends Pick<CallMemory, 'add' | 'give'> {
  /** The most that one workspace may reserve. */
  readonly mostBytes: number;
}

/** Copies of a page while it is read: the row as PostgreSQL sends it, twice at most, and what its reader gets. */
const COPIES_WHILE_READ = 3;
/** A reader who has got some of the results waits so often for up to two seconds. */
const MOST_WAITS = 30;

/** Counts the pages of results that a reader has yet to take against the memory of its workspace. */
export class PageMemory {
  #taken = 0;
  #hasBegun = false;

  constructor(private readonly memory: ReaderMemory) {}

  /**
   * Reserves what a page needs while it is read. A page that needs more than one workspace may have takes all of that.
   *
   * @throws AppError provider_overloaded when there is no room: for the first page soon, for others after a minute
   */
  async begin(pageBytes: number): Promise<void> {
    const wanted = Math.min(pageBytes * COPIES_WHILE_READ, this.memory.mostBytes);
    for (let waits = this.#hasBegun ? MOST_WAITS : 1; ; waits -= 1) {
      try {
        await this.memory.add(wanted);
        break;
      } catch (error) {
        if (waits === 1 || AppError.from(error).code !== 'provider_overloaded') throw error;
      }
    }
    this.#hasBegun = true;
    this.#taken = wanted;
  }

  /** Gives back all but the bytes of the page, which its reader has yet to take. */
  isRead(pageBytes: number): void {
    const kept = Math.min(pageBytes, this.#taken);
    this.memory.give(this.#taken - kept);
    this.#taken = kept;
  }

  end(): void {
    this.memory.give(this.#taken);
    this.#taken = 0;
  }
}
