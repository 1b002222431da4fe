import { defined, numberOf, objectOf, objectsOf, stringOf } from '@libs/json';
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

const TASKS = '/contents/generations/tasks';
/** Most tasks per page of the list; the next constant limits the number of pages. */
const TASKS_PER_PAGE = 500;
const MOST_PAGES = 20;

/**
 * Content generation tasks of BytePlus ModelArk, which are charged by tokens. A task keeps the `safety_identifier` with
 * which it was created, and the list of tasks shows it, so that a lost task can be found.
 */
export class BytePlusVideos extends RestVideos {
  start(request: VideoRequest, access: VideoAccess, reference: string): Promise<VideoStart> {
    const body = { ...bodyOf(request, access), safety_identifier: reference };
    return this.rest.start(TASKS, body, access, { read: ({ id }) => accepted(id) });
  }

  async find(reference: string, access: VideoAccess): Promise<VideoOperation | null> {
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const { items } = await this.rest.get(`${TASKS}?page_num=${page}&page_size=${TASKS_PER_PAGE}`, access);
      if (!Array.isArray(items)) throw brokenAnswer(access.endpoint.provider, 'a list of tasks without tasks');
      const tasks = objectsOf(items);
      const found = tasks.find((task) => task['safety_identifier'] === reference);
      const id = stringOf(found?.['id']);
      if (id !== undefined) return { id };
      if (items.length < TASKS_PER_PAGE) return null;
    }
    throw brokenAnswer(access.endpoint.provider, 'more tasks than can be looked through');
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
