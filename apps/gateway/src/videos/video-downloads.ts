import type { Readable } from 'node:stream';
import { AppError } from '@libs/errors';
import { WaitingPool, type WaitingPoolOptions } from '../http/waiting-pool';

/** Fewer than a bucket gives connections, so that a download that has a place never waits for one. */
const MOST_DOWNLOADS = 64;

/** The downloads of videos that this process serves at once. They last as long as their readers want, so they are shared. */
export class VideoDownloads {
  readonly #places: WaitingPool;

  constructor(most = MOST_DOWNLOADS, options: Partial<WaitingPoolOptions> = {}) {
    this.#places = new WaitingPool(most, options);
  }

  /**
   * Opens a video when there is a place for it, which it has until it is closed.
   *
   * @param holders the workspace that asks, and its organization
   * @throws AppError provider_overloaded when there is none within a short time; what `open` throws
   */
  async open(holders: readonly string[], open: () => Promise<Readable>): Promise<Readable> {
    if (!this.#places.take(holders, 1) && !(await this.#places.wait(holders, 1))) throw overloaded();
    try {
      const video = await open();
      // A caller that has left may have closed it meanwhile.
      if (video.closed) this.#places.give(holders, 1);
      else video.once('close', () => this.#places.give(holders, 1));
      return video;
    } catch (thrown) {
      this.#places.give(holders, 1);
      throw thrown;
    }
  }
}

function overloaded(): AppError {
  const internal = 'too many videos are being downloaded';
  return new AppError('provider_overloaded', 'The service is overloaded', { retryAfterSeconds: 1, internal });
}
