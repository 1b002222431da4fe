import { defined, numberOf, objectOf, stringOf } from '../../dialects/loose-values';
import { brokenAnswer } from '../upstream-error';
import type { VideoAccess, VideoMedia, VideoOperation, VideoRequest, VideoStart, VideoStatus } from '../video-provider';
import { RestVideos } from './rest-videos';
import { accepted, checkSameJob, dataUrl, failureOf, idOf, linksOf } from './video-rest';

const TASKS = '/contents/generations/tasks';

/** Content generation tasks of BytePlus ModelArk, which are paid for by the token. */
export class BytePlusVideos extends RestVideos {
  start(request: VideoRequest, access: VideoAccess): Promise<VideoStart> {
    return this.rest.start(TASKS, bodyOf(request, access), access, { read: ({ id }) => accepted(id) });
  }

  async status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus> {
    const id = idOf(operation);
    const task = await this.rest.get(`${TASKS}/${encodeURIComponent(id)}`, access);
    checkSameJob(id, task['id'], access);
    switch (task['status']) {
      case 'queued':
        return { state: 'pending' };
      case 'running':
        return { state: 'in_progress' };
      case 'succeeded':
        return {
          state: 'completed',
          outputs: linksOf([objectOf(task['content'])['video_url']], access),
          completionTokens: numberOf(objectOf(task['usage'])['completion_tokens']),
        };
      case 'failed':
        return { state: 'failed', message: failureOf(objectOf(task['error'])['message']) };
      case 'cancelled':
        return { state: 'cancelled', message: 'The provider cancelled the job' };
      case 'expired':
        return { state: 'expired', message: 'The job took the provider too long' };
      default:
        throw brokenAnswer(access.endpoint.provider, `a task is ${stringOf(task['status']) ?? 'in no state'}`);
    }
  }
}

function bodyOf(request: VideoRequest, { endpoint }: VideoAccess): object {
  const image = (media: VideoMedia | null, role: string): object[] =>
    media === null ? [] : [{ type: 'image_url', image_url: { url: dataUrl(media) }, role }];
  return defined({
    ...request.options,
    model: endpoint.upstreamModel,
    content: [
      ...(request.prompt === null ? [] : [{ type: 'text', text: request.prompt }]),
      ...image(request.firstFrame, 'first_frame'),
      ...image(request.lastFrame, 'last_frame'),
      ...request.references.flatMap((media) => image(media, 'reference_image')),
    ],
    ratio: request.aspectRatio,
    resolution: request.resolution,
    duration: request.durationSeconds,
    seed: request.seed ?? undefined,
    generate_audio: request.generateAudio || undefined,
  });
}
