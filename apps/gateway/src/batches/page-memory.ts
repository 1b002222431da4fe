import { AppError } from '@libs/errors';
import type { CallMemory } from '../http/fetched-bytes';

/** Memory of one request that reads results. */
export interface ReaderMemory extends Pick<CallMemory, 'add' | 'give'> {
  /** The most that one workspace may reserve. */
  readonly mostBytes: number;
}

/**
 * Copies of a page in memory while it is read: the row from PostgreSQL, at most twice, and the output to the reader.
 */
const COPIES_WHILE_READ = 3;
/** A reader that has received some results waits at most this many times, up to two seconds each. */
const MOST_WAITS = 30;

/** Counts the pages of results that a reader has not taken yet against the memory of its workspace. */
export class PageMemory {
  #taken = 0;
  #hasBegun = false;

  constructor(private readonly memory: ReaderMemory) {}

  /**
   * Reserves the memory that a page needs while it is read. A page that needs more than the limit of a workspace takes
   * the whole limit.
   * @throws AppError provider_overloaded if there is no memory: soon for the first page, after a minute for later ones
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

  /** Releases all but the bytes of the page, which its reader has not taken yet. */
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
