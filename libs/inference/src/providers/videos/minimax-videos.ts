import { defined, numberOf, objectOf, stringOf, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import { brokenAnswer, complaintError } from '../../wire/upstream-error';
import type { VideoAccess, VideoOperation, VideoRequest, VideoStart, VideoStatus } from '../../videos/video-provider';
import { RestVideos } from './rest-videos';
import { accepted, checkSameJob, dataUrl, failureOf, idOf, linksOf } from './video-rest';

/** HTTP statuses for the error codes that MiniMax sends inside a 200. */
const STATUSES: Readonly<Record<number, number>> = {
  1002: 429,
  1004: 401,
  1008: 402,
  1026: 400,
  2013: 400,
  2049: 401,
};
const SENSITIVE = 1026;

/** MiniMax's video generation API: creates a task, then fetches a file. */
export class MinimaxVideos extends RestVideos {
  start(request: VideoRequest, access: VideoAccess): Promise<VideoStart> {
    return this.rest.start('/video_generation', bodyOf(request, access), access, {
      read: (answer) => {
        const error = errorIn(answer, access);
        // After an error on the provider's side, a task may exist nevertheless.
        if (error?.code === 'provider_unavailable' && !isKnown(answer)) throw error;
        return error ? { kind: 'refused', error } : accepted(answer['task_id']);
      },
    });
  }

  async status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus> {
    const id = idOf(operation);
    const task = await this.#get(`/query/video_generation?task_id=${encodeURIComponent(id)}`, access);
    checkSameJob(id, task['task_id'], access);
    switch (task['status']) {
      case 'Preparing':
      case 'Queueing':
        return { state: 'pending' };
      case 'Processing':
        return { state: 'in_progress' };
      case 'Success':
        return this.#file(task['file_id'], access);
      case 'Fail':
        return { state: 'failed', message: failureOf(task['error_message']) };
      default:
        throw brokenAnswer(access.endpoint.provider, `a task is ${stringOf(task['status']) ?? 'in no state'}`);
    }
  }

  async #file(id: unknown, access: VideoAccess): Promise<VideoStatus> {
    const name = encodeURIComponent(String(stringOf(id) ?? numberOf(id) ?? ''));
    const { file } = await this.#get(`/files/retrieve?file_id=${name}`, access);
    return { state: 'completed', outputs: linksOf([objectOf(file)['download_url']], access) };
  }

  async #get(path: string, access: VideoAccess): Promise<JsonObject> {
    const answer = await this.rest.get(path, access);
    const error = errorIn(answer, access);
    if (error) throw error;
    return answer;
  }
}

function bodyOf(request: VideoRequest, { endpoint }: VideoAccess): object {
  return defined({
    ...request.options,
    model: endpoint.upstreamModel,
    prompt: request.prompt ?? undefined,
    duration: request.durationSeconds,
    resolution: request.resolution.toUpperCase(),
    first_frame_image: request.firstFrame ? dataUrl(request.firstFrame) : undefined,
    last_frame_image: request.lastFrame ? dataUrl(request.lastFrame) : undefined,
  });
}

function codeIn(answer: JsonObject): number {
  return numberOf(objectOf(answer['base_resp'])['status_code']) ?? 0;
}

function isKnown(answer: JsonObject): boolean {
  return Object.hasOwn(STATUSES, codeIn(answer));
}

function errorIn(answer: JsonObject, { endpoint }: VideoAccess): AppError | null {
  const code = codeIn(answer);
  if (code === 0) return null;
  const message = stringOf(objectOf(answer['base_resp'])['status_msg']) ?? null;
  const status = STATUSES[code] ?? 502;
  const said = code === SENSITIVE ? 'content_policy' : null;
  return complaintError(endpoint.provider, status, { message, code: said, status: null });
}
