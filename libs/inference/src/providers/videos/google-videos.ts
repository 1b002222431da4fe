import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import type { VideoAccess, VideoOperation, VideoRequest, VideoStart, VideoStatus } from '../../videos/video-provider';
import { RestVideos } from './rest-videos';
import { veoBody } from './veo-body';
import { accepted, checkSameJob, failureOf, idOf, linksOf } from './video-rest';

/** Veo by the Gemini API: long-running operations. */
export class GoogleVideos extends RestVideos {
  async start(request: VideoRequest, access: VideoAccess): Promise<VideoStart> {
    const path = `/models/${encodeURIComponent(access.endpoint.upstreamModel)}:predictLongRunning`;
    let earlier: string | undefined;
    try {
      earlier = request.continues === null ? undefined : await this.#uriOf(request.continues, access);
    } catch (error) {
      // Nothing has been submitted yet.
      return { kind: 'refused', error: AppError.from(error) };
    }
    return this.rest.start(path, bodyOf(request, earlier), access, { read: ({ name }) => accepted(name) });
  }

  async status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus> {
    const name = idOf(operation);
    const job = await this.rest.get(`/${encodeURI(name)}`, access);
    checkSameJob(name, job['name'], access);
    if (job['done'] !== true) return { state: 'in_progress' };
    if (isObject(job['error'])) return { state: 'failed', message: failureOf(job['error']['message']) };
    return finished(objectOf(objectOf(job['response'])['generateVideoResponse']), access);
  }

  async #uriOf(operation: VideoOperation, access: VideoAccess): Promise<string> {
    const job = await this.rest.get(`/${encodeURI(idOf(operation))}`, access);
    const uri = urisOf(objectOf(objectOf(job['response'])['generateVideoResponse']))[0];
    const url = URL.parse(uri ?? '');
    if (url === null) throw new AppError('invalid_request', 'The provider no longer has the video of previous_job_id');
    url.searchParams.delete('key');
    return url.href;
  }
}

function bodyOf(request: VideoRequest, earlier: string | undefined): object {
  const { instance, parameters } = veoBody(request);
  const video = earlier === undefined ? {} : { video: { uri: earlier } };
  return { instances: [{ ...instance, ...video }], parameters };
}

function finished(response: JsonObject, access: VideoAccess): VideoStatus {
  const uris = urisOf(response);
  if (uris.length === 0) {
    const reasons = response['raiMediaFilteredReasons'];
    const reason: unknown = Array.isArray(reasons) ? reasons[0] : undefined;
    return { state: 'failed', message: failureOf(reason, 'The provider made no video') };
  }
  return { state: 'completed', outputs: linksOf(uris.map(withoutKey), access) };
}

function urisOf(response: JsonObject): (string | undefined)[] {
  return objectsOf(response['generatedSamples']).map((sample) => stringOf(objectOf(sample['video'])['uri']));
}

/** Removes the key that a Google link may contain, because it must not leave the gateway. */
function withoutKey(uri: string | undefined): string | undefined {
  const url = URL.parse(uri ?? '');
  url?.searchParams.delete('key');
  return url?.href;
}
