import { defined, isObject, objectOf, objectsOf, stringOf } from '@libs/json';
import { AppError } from '@libs/errors';
import { brokenAnswer } from '../../wire/upstream-error';
import type { VideoAccess, VideoOperation, VideoRequest, VideoStart, VideoStatus } from '../../videos/video-provider';
import { RestVideos } from './rest-videos';
import { accepted, checkSameJob, dataUrl, idOf, linksOf } from './video-rest';

/** fal's queue. */
export class FalVideos extends RestVideos {
  start(request: VideoRequest, access: VideoAccess): Promise<VideoStart> {
    const path = `/${encodeURI(access.endpoint.upstreamModel)}`;
    return this.rest.start(path, inputOf(request), access, { read: (answer) => accepted(answer['request_id']) });
  }

  async status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus> {
    const id = idOf(operation);
    const path = `/${appOf(access)}/requests/${encodeURIComponent(id)}`;
    const job = await this.rest.get(`${path}/status`, access);
    checkSameJob(id, job['request_id'], access);
    switch (job['status']) {
      case 'IN_QUEUE':
        return { state: 'pending' };
      case 'IN_PROGRESS':
        return { state: 'in_progress' };
      case 'COMPLETED':
        return this.#result(path, access);
      default:
        throw brokenAnswer(access.endpoint.provider, `a request is ${stringOf(job['status']) ?? 'in no state'}`);
    }
  }

  /** A failed request also has the state "completed"; its result is the refusal. */
  async #result(path: string, access: VideoAccess): Promise<VideoStatus> {
    try {
      const result = await this.rest.get(path, access);
      const videos = isObject(result['video']) ? [result['video']] : objectsOf(result['videos']);
      return {
        state: 'completed',
        outputs: linksOf(
          videos.map((video) => objectOf(video)['url']),
          access,
        ),
      };
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.retryable || error.status >= 500) throw error;
      return { state: 'failed', message: error.message };
    }
  }
}

/** Returns the path of an app's jobs, which all of its endpoints share: the first two segments of a model's path. */
function appOf({ endpoint }: VideoAccess): string {
  return endpoint.upstreamModel.split('/').slice(0, 2).map(encodeURIComponent).join('/');
}

function inputOf(request: VideoRequest): object {
  return defined({
    ...request.options,
    prompt: request.prompt ?? undefined,
    duration: String(request.durationSeconds),
    aspect_ratio: request.aspectRatio,
    resolution: request.resolution,
    seed: request.seed ?? undefined,
    image_url: request.firstFrame ? dataUrl(request.firstFrame) : undefined,
    tail_image_url: request.lastFrame ? dataUrl(request.lastFrame) : undefined,
  });
}
