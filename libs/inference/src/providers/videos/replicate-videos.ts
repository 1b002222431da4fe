import { defined, stringOf } from '@libs/json';
import { brokenAnswer } from '../../wire/upstream-error';
import type { VideoAccess, VideoOperation, VideoRequest, VideoStart, VideoStatus } from '../../videos/video-provider';
import { RestVideos } from './rest-videos';
import { accepted, checkSameJob, dataUrl, failureOf, idOf, linksOf } from './video-rest';

/** Replicate's predictions. */
export class ReplicateVideos extends RestVideos {
  start(request: VideoRequest, access: VideoAccess): Promise<VideoStart> {
    const path = `/models/${encodeURI(access.endpoint.upstreamModel)}/predictions`;
    return this.rest.start(path, { input: inputOf(request) }, access, { read: ({ id }) => accepted(id) });
  }

  async status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus> {
    const id = idOf(operation);
    const job = await this.rest.get(`/predictions/${encodeURIComponent(id)}`, access);
    checkSameJob(id, job['id'], access);
    switch (job['status']) {
      case 'starting':
        return { state: 'pending' };
      case 'processing':
        return { state: 'in_progress' };
      case 'succeeded':
        return { state: 'completed', outputs: linksOf([job['output']].flat(), access) };
      case 'failed':
        return { state: 'failed', message: failureOf(job['error']) };
      case 'canceled':
      case 'aborted':
        return { state: 'cancelled', message: 'The provider cancelled the job' };
      default:
        throw brokenAnswer(access.endpoint.provider, `a prediction is ${stringOf(job['status']) ?? 'in no state'}`);
    }
  }
}

function inputOf(request: VideoRequest): object {
  return defined({
    ...request.options,
    prompt: request.prompt ?? undefined,
    duration: request.durationSeconds,
    aspect_ratio: request.aspectRatio,
    resolution: request.resolution,
    seed: request.seed ?? undefined,
    start_image: request.firstFrame ? dataUrl(request.firstFrame) : undefined,
    end_image: request.lastFrame ? dataUrl(request.lastFrame) : undefined,
  });
}
