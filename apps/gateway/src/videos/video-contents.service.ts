import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import type { KeptVideo, VideoView } from '@libs/persistence';
import { BlobStore, type ByteRange } from '@libs/platform';

/** The kept copies of finished videos. */
@Injectable()
export class VideoContentsService {
  constructor(private readonly blobs: BlobStore) {}

  /**
   * One output of a job.
   *
   * @throws AppError conflict (not there yet, or never), gone (no longer kept), invalid_request (no such output)
   */
  find({ status, outputs, outputsExpireAt }: VideoView, index: number): KeptVideo {
    if (status === 'pending' || status === 'in_progress') throw new AppError('conflict', 'The video is not ready yet');
    if (status !== 'completed') throw new AppError('conflict', 'The job ended without a video');
    if (outputs === null && outputsExpireAt !== null) throw new AppError('gone', 'The video is no longer kept');
    const output = outputs?.[index];
    if (output) return output;
    throw new AppError('invalid_request', 'index names no output of this job', { metadata: { param: 'index' } });
  }

  /** @throws AppError gone */
  async open({ key }: KeptVideo, range: ByteRange | null): Promise<Readable> {
    try {
      return await this.blobs.read(key, range ?? undefined);
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.code !== 'not_found') throw error;
      throw new AppError('gone', 'The video is no longer kept', { cause: error });
    }
  }
}
