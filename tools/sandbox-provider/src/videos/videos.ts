import { hash } from 'node:crypto';
import { promptHash } from '../answers/answer';
import { BoundedStore } from '../http/bounded-store';
import { nextId, unixSeconds } from '../http/ids';
import { parseJsonObject, textOf } from '../http/json-members';
import { isMultipart, readMultipart } from '../http/multipart';
import { jsonReply, type Call, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { makeClip } from './clip';
import type { InferenceStart } from '../behaviours/inference-start';

const MAXIMUM_JOBS = 1_000;
const MAXIMUM_SECONDS = 60;
const EXPIRES_AFTER_SECONDS = 86_400;
/** The share of a job's time that it waits before it starts. */
const QUEUED_SHARE = 0.1;

interface VideoJob {
  readonly id: string;
  readonly model: string;
  readonly prompt: string;
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
  readonly createdAtMs: number;
  readonly durationMs: number;
  readonly fails: boolean;
}

interface VideoFields {
  readonly model: unknown;
  readonly prompt: string;
  readonly seconds: number;
  readonly width: number;
  readonly height: number;
}

/** `/v1/videos`: a job is its creation time and its length, and its state follows from the clock. */
export class Videos {
  private readonly jobs = new BoundedStore<VideoJob>(MAXIMUM_JOBS);
  private readonly byIdempotencyKey = new BoundedStore<{ readonly bodyHash: string; readonly job: VideoJob }>(
    MAXIMUM_JOBS,
  );

  constructor(
    private readonly start: InferenceStart,
    private readonly defaultDurationMs: number,
  ) {}

  create(call: Call): Reply {
    return this.begin(call, isMultipart(call) ? fieldsOfForm(call) : fieldsOfJson(call));
  }

  /** A clip of the model and shape of an earlier one. */
  extend(call: Call): Reply {
    const { prompt, seconds, video } = parseJsonObject(call.body);
    const id = typeof video === 'object' && video !== null ? (video as { id?: unknown }).id : undefined;
    const earlier = this.get(textOf(id));
    return this.begin(call, readFields(earlier.model, prompt, seconds, `${earlier.width}x${earlier.height}`));
  }

  private begin(call: Call, fields: VideoFields): Reply {
    const identity = Buffer.from(JSON.stringify(fields));
    const { model, playback, refusal } = this.start.begin('openai', fields.model, identity);
    if (refusal) return refusal;
    const key = call.headers['idempotency-key'];
    const bodyHash = hash('sha256', identity, 'hex');
    const known = typeof key === 'string' ? this.byIdempotencyKey.get(key) : undefined;
    if (known) {
      if (known.bodyHash !== bodyHash) {
        throw new SandboxError(409, 'This Idempotency-Key was used with another body', null, 'idempotency_key_reused');
      }
      return jsonReply(describe(known.job), playback);
    }
    this.start.counts.countPrompt(promptHash(fields.prompt));
    const job: VideoJob = {
      ...fields,
      id: nextId('video_'),
      model: model.name,
      createdAtMs: Date.now(),
      durationMs: model.behaviour.videoMs ?? this.defaultDurationMs,
      fails: model.behaviour.videoEnd === 'failed',
    };
    this.jobs.set(job.id, job);
    if (typeof key === 'string') this.byIdempotencyKey.set(key, { bodyHash, job });
    return jsonReply(describe(job), playback);
  }

  list(): Reply {
    return jsonReply({ object: 'list', data: this.jobs.list().slice(0, 100).map(describe), has_more: false });
  }

  show(call: Call): Reply {
    return jsonReply(describe(this.get(call.id)));
  }

  content(call: Call): Reply {
    const job = this.get(call.id);
    const variant = call.query.get('variant') ?? 'video';
    if (variant !== 'video') throw new SandboxError(400, "'variant' must be 'video'", 'variant');
    if (stateOf(job).status !== 'completed') {
      throw new SandboxError(404, 'Video is not ready yet, use GET /v1/videos/{video_id} to check status');
    }
    const comment = `[sandbox] #${promptHash(job.prompt)} Made by the sandbox provider`;
    const body = makeClip(job.width, job.height, job.seconds, comment);
    return { kind: 'body', status: 200, contentType: 'video/mp4', body };
  }

  remove(call: Call): Reply {
    const job = this.get(call.id);
    this.jobs.delete(job.id);
    return jsonReply({ id: job.id, object: 'video.deleted', deleted: true });
  }

  private get(id: string): VideoJob {
    const job = this.jobs.get(id);
    if (!job) throw new SandboxError(404, 'No such video', 'video_id');
    return job;
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

/** `seconds` may come as a number or as text, as the clients in use send both. */
function readFields(model: unknown, prompt: unknown, secondsMember: unknown, sizeMember: unknown): VideoFields {
  if (typeof prompt !== 'string' || prompt === '') {
    throw new SandboxError(400, "Missing required parameter: 'prompt'", 'prompt');
  }
  return { model, prompt, seconds: readSeconds(secondsMember ?? 4), ...readSize(sizeMember ?? '720x1280') };
}

function readSeconds(member: unknown): number {
  const seconds = Number(member);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAXIMUM_SECONDS) {
    throw new SandboxError(400, `'seconds' must be a whole number from 1 to ${MAXIMUM_SECONDS}`, 'seconds');
  }
  return seconds;
}

function readSize(member: unknown): { readonly width: number; readonly height: number } {
  const [, width, height] = /^([1-9]\d{1,3})x([1-9]\d{1,3})$/.exec(textOf(member)) ?? [];
  if (width === undefined || height === undefined) throw new SandboxError(400, "'size' must be WIDTHxHEIGHT", 'size');
  return { width: Number(width), height: Number(height) };
}

interface VideoState {
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed';
  readonly progress: number;
}

function stateOf(job: VideoJob): VideoState {
  const share = job.durationMs === 0 ? 1 : (Date.now() - job.createdAtMs) / job.durationMs;
  if (share < QUEUED_SHARE) return { status: 'queued', progress: 0 };
  const progress = Math.min(99, Math.floor((100 * (share - QUEUED_SHARE)) / (1 - QUEUED_SHARE)));
  if (share < 1) return { status: 'in_progress', progress };
  return job.fails ? { status: 'failed', progress } : { status: 'completed', progress: 100 };
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
