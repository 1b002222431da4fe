import { defined, stringOf } from '@libs/json';
import { brokenAnswer } from '../../wire/upstream-error';
import type {
  VideoAccess,
  VideoMedia,
  VideoOperation,
  VideoRequest,
  VideoStart,
  VideoStatus,
} from '../../videos/video-provider';
import { RestVideos } from './rest-videos';
import { accepted, checkSameJob, dataUrl, failureOf, idOf, linksOf } from './video-rest';

/** Sizes that Runway accepts, by width and height; there are no others. */
const RATIOS: Readonly<Record<string, string>> = {
  '16:9': '1280:720',
  '9:16': '720:1280',
  '4:3': '1104:832',
  '3:4': '832:1104',
  '1:1': '960:960',
  '21:9': '1584:672',
};

/** Runway's tasks. */
export class RunwayVideos extends RestVideos {
  start(request: VideoRequest, access: VideoAccess): Promise<VideoStart> {
    const hasFrame = request.firstFrame !== null || request.lastFrame !== null;
    const path = hasFrame ? '/image_to_video' : '/text_to_video';
    return this.rest.start(path, bodyOf(request, access), access, { read: ({ id }) => accepted(id) });
  }

  async status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus> {
    const id = idOf(operation);
    const task = await this.rest.get(`/tasks/${encodeURIComponent(id)}`, access);
    checkSameJob(id, task['id'], access);
    switch (task['status']) {
      case 'PENDING':
      case 'THROTTLED':
        return { state: 'pending' };
      case 'RUNNING':
        return { state: 'in_progress' };
      case 'SUCCEEDED':
        return { state: 'completed', outputs: linksOf([task['output']].flat(), access) };
      case 'FAILED':
        return { state: 'failed', message: failureOf(task['failure']) };
      case 'CANCELLED':
        return { state: 'cancelled', message: 'The provider cancelled the job' };
      default:
        throw brokenAnswer(access.endpoint.provider, `a task is ${stringOf(task['status']) ?? 'in no state'}`);
    }
  }
}

function bodyOf(request: VideoRequest, { endpoint }: VideoAccess): object {
  return defined({
    ...request.options,
    model: endpoint.upstreamModel,
    promptText: request.prompt ?? undefined,
    promptImage: imagesOf(request),
    ratio: RATIOS[request.aspectRatio] ?? RATIOS['16:9'],
    duration: request.durationSeconds,
    seed: request.seed ?? undefined,
  });
}

function imagesOf({ firstFrame, lastFrame }: VideoRequest): unknown {
  if (lastFrame === null) return firstFrame === null ? undefined : dataUrl(firstFrame);
  const at = (media: VideoMedia | null, position: string): object[] =>
    media === null ? [] : [{ uri: dataUrl(media), position }];
  return [...at(firstFrame, 'first'), ...at(lastFrame, 'last')];
}
