import { defined, isObject, objectOf, objectsOf, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import { googleError } from '../../dialects/google-generate-content/error';
import { vertexModelName, type VertexAccess, type VertexDoor } from '../google-vertex-access';
import { brokenAnswer } from '../../wire/upstream-error';
import type { UpstreamHttp } from '../../wire/upstream-http';
import type { UpstreamStream } from '../../wire/upstream-stream';
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
import { InlinedBytes, UnreadableBytes } from './inlined-bytes';
import { veoBody } from './veo-body';
import { accepted, checkSameJob, failureOf, idOf, VideoRest } from './video-rest';

const JSON_TYPE = 'application/json';
const BYTES = 'bytesBase64Encoded';
/** An answer that contains a video takes longer than one without. */
const ANSWER_MS = 300_000;

/**
 * Veo on Vertex AI: long-running operations, polled by `:fetchPredictOperation`. No bucket is given, so the answer
 * itself contains the video as base64. It is fetched twice: once to learn that it exists, and once to extract it, each
 * time without keeping it in memory.
 */
export class VertexVideos implements VideoApi {
  constructor(
    private readonly http: UpstreamHttp,
    private readonly access: VertexAccess,
  ) {}

  async start(request: VideoRequest, access: VideoAccess): Promise<VideoStart> {
    let door: VertexDoor;
    try {
      if (request.continues !== null) {
        throw new AppError('invalid_request', 'This provider cannot continue a video: leave out previous_job_id');
      }
      door = await this.access.open(access);
    } catch (error) {
      // Nothing has been submitted yet.
      return { kind: 'refused', error: AppError.from(error) };
    }
    const path = `${pathOf(door, access)}:predictLongRunning`;
    const rest = new VideoRest(this.http, () => door.credential.header, errorsOf(door));
    return rest.start(
      path,
      bodyOf(request),
      { ...access, apiKey: door.apiKey },
      { read: ({ name }) => accepted(name) },
    );
  }

  async status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus> {
    const lengths: number[] = [];
    const answer = new InlinedBytes(BYTES, (index, { length }) => {
      lengths[index] = (lengths[index] ?? 0) + length;
    });
    const stream = await this.#ask(operation, access);
    for (let chunk = await stream.read(); chunk !== null; chunk = await stream.read()) {
      pour(chunk, answer, stream, access);
    }
    const job = parsed(answer, access);
    checkSameJob(idOf(operation), job['name'], access);
    if (job['done'] !== true) return { state: 'in_progress' };
    if (isObject(job['error'])) return { state: 'failed', message: failureOf(job['error']['message']) };
    return finished(operation, objectOf(job['response']), lengths, access);
  }

  async open(output: VideoOutput, access: VideoAccess): Promise<OpenedVideo> {
    if (!('answer' in output)) {
      throw new AppError('server', 'Internal error', { internal: 'a video of another provider' });
    }
    const stream = await this.#ask(output.answer, access);
    return { kind: 'stream', stream: new VideoInAnswer(stream, output.index, access) };
  }

  async #ask(operation: VideoOperation, access: VideoAccess): Promise<UpstreamStream> {
    const door = await this.access.open(access);
    const body = Buffer.from(JSON.stringify({ operationName: idOf(operation) }));
    const totalMs = Math.max(access.timeouts.totalMs, ANSWER_MS);
    const headers = ['content-type', JSON_TYPE, 'accept', JSON_TYPE, ...door.credential.header];
    const call = { ...access, apiKey: door.apiKey, body, timeouts: { ...access.timeouts, totalMs } };
    const opened = await this.http.stream(`${pathOf(door, access)}:fetchPredictOperation`, headers, call);
    if ('read' in opened) return opened;
    throw errorsOf(door)(access.endpoint.provider, opened.status, opened.headers, opened.body);
  }
}

/** One video in an answer, decoded while it arrives. */
class VideoInAnswer implements UpstreamStream {
  readonly #decoded: Buffer[] = [];
  readonly #answer: InlinedBytes;

  constructor(
    private readonly stream: UpstreamStream,
    wanted: number,
    private readonly access: VideoAccess,
  ) {
    this.#answer = new InlinedBytes(BYTES, (index, bytes) => {
      if (index === wanted) this.#decoded.push(bytes);
    });
  }

  async read(): Promise<Buffer | null> {
    while (this.#decoded.length === 0) {
      const chunk = await this.stream.read();
      if (chunk === null) {
        parsed(this.#answer, this.access);
        return null;
      }
      pour(chunk, this.#answer, this.stream, this.access);
    }
    return Buffer.concat(this.#decoded.splice(0));
  }

  leave(): number {
    return this.stream.leave();
  }

  cancel(): void {
    this.stream.cancel();
  }

  discard(): void {
    this.stream.discard();
  }
}

function pour(chunk: Buffer, answer: InlinedBytes, stream: UpstreamStream, { endpoint }: VideoAccess): void {
  try {
    answer.write(chunk);
  } catch (thrown) {
    stream.cancel();
    if (thrown instanceof UnreadableBytes) {
      throw brokenAnswer(endpoint.provider, `a video job: ${thrown.message}`, thrown);
    }
    throw thrown;
  }
}

function parsed(answer: InlinedBytes, { endpoint }: VideoAccess): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(answer.rest());
  } catch (error) {
    throw brokenAnswer(endpoint.provider, 'the answer about a video job is no JSON', error);
  }
  if (isObject(value)) return value;
  throw brokenAnswer(endpoint.provider, 'the answer about a video job is no object');
}

function finished(
  operation: VideoOperation,
  response: JsonObject,
  lengths: readonly number[],
  { endpoint }: VideoAccess,
): VideoStatus {
  const outputs = [...lengths.keys()]
    .filter((index) => lengths[index]! > 0)
    .map((index) => ({ answer: operation, index }));
  if (outputs.length > 0) return { state: 'completed', outputs };
  if (objectsOf(response['videos']).length > 0) {
    throw brokenAnswer(endpoint.provider, 'a finished video without its bytes');
  }
  const reasons = response['raiMediaFilteredReasons'];
  const reason: unknown = Array.isArray(reasons) ? reasons[0] : undefined;
  return { state: 'failed', message: failureOf(reason, 'The provider made no video') };
}

/** Returns the body for one video. It names no bucket, because the gateway could not fetch a video from there. */
function bodyOf(request: VideoRequest): object {
  const { instance, parameters } = veoBody(request);
  const { storageUri: _bucket, ...mine } = parameters;
  return {
    instances: [instance],
    parameters: defined({ ...mine, generateAudio: request.generateAudio, sampleCount: 1 }),
  };
}

function pathOf({ resource }: VertexDoor, { endpoint }: VideoAccess): string {
  return `${resource}/${vertexModelName(endpoint, 'google')}`;
}

/** Maps Google's errors. If a token is no longer accepted, it is removed from the cache. */
function errorsOf({ credential }: VertexDoor): typeof googleError {
  return (provider, status, headers, body) => {
    if (status === 401) credential.onRefused?.();
    return googleError(provider, status, headers, body);
  };
}
