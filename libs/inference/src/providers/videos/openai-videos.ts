import { defined, objectOf, stringOf } from '@libs/json';
import { brokenAnswer } from '../../wire/upstream-error';
import type { VideoAccess, VideoOperation, VideoRequest, VideoStart, VideoStatus } from '../../videos/video-provider';
import { RestVideos } from './rest-videos';
import { accepted, checkSameJob, dataUrl, failureOf, idOf } from './video-rest';

/** OpenAI's `/videos`. */
export class OpenAiVideos extends RestVideos {
  start(request: VideoRequest, access: VideoAccess, reference: string): Promise<VideoStart> {
    const { continues } = request;
    const path = continues === null ? '/videos' : '/videos/extensions';
    const body = continues === null ? created(request, access) : extended(request, continues);
    const headers = ['idempotency-key', reference];
    return this.rest.start(path, body, access, { read: ({ id }) => accepted(id), headers });
  }

  async status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus> {
    const id = idOf(operation);
    const path = `/videos/${encodeURIComponent(id)}`;
    const job = await this.rest.get(path, access);
    checkSameJob(id, job['id'], access);
    switch (job['status']) {
      case 'queued':
        return { state: 'pending' };
      case 'in_progress':
        return { state: 'in_progress' };
      case 'completed':
        return { state: 'completed', outputs: [{ path: `${path}/content` }] };
      case 'failed':
        return { state: 'failed', message: failureOf(objectOf(job['error'])['message']) };
      default:
        throw brokenAnswer(access.endpoint.provider, `a video job is ${stringOf(job['status']) ?? 'in no state'}`);
    }
  }
}

function created(request: VideoRequest, { endpoint }: VideoAccess): object {
  return defined({
    ...request.options,
    model: endpoint.upstreamModel,
    prompt: request.prompt ?? undefined,
    seconds: String(request.durationSeconds),
    size: `${request.width}x${request.height}`,
    input_reference: request.firstFrame ? { image_url: dataUrl(request.firstFrame) } : undefined,
  });
}

function extended({ prompt, durationSeconds, options }: VideoRequest, continues: VideoOperation): object {
  return defined({
    ...options,
    prompt: prompt ?? undefined,
    seconds: String(durationSeconds),
    video: { id: idOf(continues) },
  });
}
