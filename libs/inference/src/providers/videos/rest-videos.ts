import { AppError } from '@libs/errors';
import type {
  OpenedVideo,
  VideoAccess,
  VideoApi,
  VideoOperation,
  VideoOutput,
  VideoRequest,
  VideoStart,
  VideoStatus,
} from '../../videos/video-provider';
import type { VideoRest } from './video-rest';

/** A video API that reports its outputs as links or paths. */
export abstract class RestVideos implements VideoApi {
  constructor(protected readonly rest: VideoRest) {}

  abstract start(request: VideoRequest, access: VideoAccess, reference: string): Promise<VideoStart>;

  abstract status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus>;

  async open(output: VideoOutput, access: VideoAccess): Promise<OpenedVideo> {
    if ('answer' in output) throw new AppError('server', 'Internal error', { internal: 'no answer holds this video' });
    return this.rest.open(output, access);
  }
}
