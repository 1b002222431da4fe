import { unixSeconds } from '../http/ids';
import { parseJsonObject, textOf } from '../http/json-members';
import { isMultipart, readMultipart } from '../http/multipart';
import { jsonReply, type Call, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { film } from '../media/film';
import { readFields, stateOf, type VideoFields, type VideoJob, type VideoJobs } from './video-jobs';

const EXPIRES_AFTER_SECONDS = 86_400;

/** `/v1/videos`, OpenAI's API for films. */
export class Videos {
  constructor(private readonly jobs: VideoJobs) {}

  create(call: Call): Reply {
    return this.begin(call, isMultipart(call) ? fieldsOfForm(call) : fieldsOfJson(call));
  }

  /** A job of the model and shape of an earlier one. */
  extend(call: Call): Reply {
    const { prompt, seconds, video } = parseJsonObject(call.body);
    const id = typeof video === 'object' && video !== null ? (video as { id?: unknown }).id : undefined;
    const earlier = this.jobs.get(textOf(id));
    return this.begin(call, readFields(earlier.model, prompt, seconds, `${earlier.width}x${earlier.height}`));
  }

  list(): Reply {
    return jsonReply({ object: 'list', data: this.jobs.list().slice(0, 100).map(describe), has_more: false });
  }

  show(call: Call): Reply {
    return jsonReply(describe(this.jobs.get(call.id)));
  }

  content(call: Call): Reply {
    const job = this.jobs.get(call.id);
    const variant = call.query.get('variant') ?? 'video';
    if (variant !== 'video') throw new SandboxError(400, "'variant' must be 'video'", 'variant');
    if (stateOf(job).status !== 'completed') {
      throw new SandboxError(404, 'Video is not ready yet, use GET /v1/videos/{video_id} to check status');
    }
    return { kind: 'body', status: 200, contentType: 'video/mp4', body: film };
  }

  remove(call: Call): Reply {
    const { id } = this.jobs.remove(call.id);
    return jsonReply({ id, object: 'video.deleted', deleted: true });
  }

  private begin(call: Call, fields: VideoFields): Reply {
    const key = call.headers['idempotency-key'];
    const begun = this.jobs.begin(fields, { idempotencyKey: typeof key === 'string' ? key : null, label: null });
    return begun.kind === 'refused' ? begun.reply : jsonReply(describe(begun.job), begun.playback);
  }
}

function fieldsOfJson(call: Call): VideoFields {
  const body = parseJsonObject(call.body);
  return readFields(body.model, body.prompt, body.seconds, body.size);
}

function fieldsOfForm(call: Call): VideoFields {
  const form = readMultipart(call);
  return readFields(form.field('model'), form.field('prompt'), form.field('seconds'), form.field('size'));
}

function describe(job: VideoJob): object {
  const { status, progress } = stateOf(job);
  const createdAt = unixSeconds(job.createdAtMs);
  const error = { code: 'sandbox_failure', message: '[sandbox] The model name asked for a failed video' };
  return {
    id: job.id,
    object: 'video',
    model: job.model,
    status,
    progress,
    created_at: createdAt,
    completed_at: status === 'completed' ? unixSeconds(job.createdAtMs + job.durationMs) : null,
    expires_at: createdAt + EXPIRES_AFTER_SECONDS,
    prompt: job.prompt,
    seconds: String(job.seconds),
    size: `${job.width}x${job.height}`,
    quality: 'standard',
    remixed_from_video_id: null,
    error: status === 'failed' ? error : null,
  };
}
