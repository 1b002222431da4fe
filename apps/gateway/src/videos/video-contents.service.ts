import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import type { KeptVideo, VideoView } from '@libs/persistence';
import { BlobStore, type ByteRange } from '@libs/platform';
import { VideoDownloads } from './video-downloads';

/** The kept copies of finished videos. */
@Injectable()
export class VideoContentsService {
  private readonly downloads = new VideoDownloads();

  constructor(private readonly blobs: BlobStore) {}

  /**
   * Returns one output of a job.
   * @throws AppError conflict (not ready, or there will be none), gone (no longer stored), invalid_request (no such
   * output)
   */
  find({ status, outputs, outputsExpireAt }: VideoView, index: number): KeptVideo {
    if (status === 'pending' || status === 'in_progress') {
      throw new AppError('conflict', 'The video is not ready yet: wait until the status of its job is completed');
    }
    if (status !== 'completed') throw new AppError('conflict', 'The job ended without a video: its error says why');
    if (outputs === null && outputsExpireAt !== null) throw new AppError('gone', 'The video is no longer kept');
    const output = outputs?.[index];
    if (output) return output;
    throw new AppError('invalid_request', 'index names no output of this job', { metadata: { param: 'index' } });
  }

  /**
   * @param holders the workspace that asks, and its organization
   * @throws AppError gone; provider_overloaded if too many videos are being downloaded
   */
  async open({ key, bytes }: KeptVideo, range: ByteRange | null, holders: readonly string[]): Promise<Readable> {
    try {
      return await this.downloads.open(holders, () => this.blobs.read(key, bytes, range ?? undefined));
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.code !== 'not_found') throw error;
      throw new AppError('gone', 'The video is no longer kept', { cause: error });
    }
  }
}
