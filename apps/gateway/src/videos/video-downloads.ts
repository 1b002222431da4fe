import type { Readable } from 'node:stream';
import { AppError } from '@libs/errors';
import { WaitingPool, type WaitingPoolOptions } from '../http/waiting-pool';

/** Lower than the number of connections to a bucket, so that a download with a slot never waits for a connection. */
const MOST_DOWNLOADS = 64;

/**
 * Limits the video downloads that this process serves at once. They last as long as their readers want, so the slots
 * are shared among tenants.
 */
export class VideoDownloads {
  readonly #places: WaitingPool;

  constructor(most = MOST_DOWNLOADS, options: Partial<WaitingPoolOptions> = {}) {
    this.#places = new WaitingPool(most, options);
  }

  /**
   * Opens a video when a slot is free. The slot is released when the video is closed.
   * @param holders the workspace that asks, and its organization
   * @throws AppError provider_overloaded if no slot is free within a short time; any error of `open`
   */
  async open(holders: readonly string[], open: () => Promise<Readable>): Promise<Readable> {
    if (!this.#places.take(holders, 1) && !(await this.#places.wait(holders, 1))) throw overloaded();
    try {
      const video = await open();
      // The caller may have disconnected, which closes the video.
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
