import { hash } from 'node:crypto';
import { promptHash } from '../answers/answer';
import { BoundedStore } from '../http/bounded-store';
import { nextId } from '../http/ids';
import { textOf } from '../http/json-members';
import { SandboxError } from '../http/sandbox-error';
import type { InferenceStart } from '../behaviours/inference-start';
import type { BodyReply, Playback } from '../http/reply';

const MAXIMUM_JOBS = 1_000;
const MAXIMUM_SECONDS = 60;
/** The share of a job's time that it waits before it starts. */
const QUEUED_SHARE = 0.1;

export interface VideoFields {
  readonly model: unknown;
  readonly prompt: string;
  readonly seconds: number;
  readonly width: number;
  readonly height: number;
}

export interface VideoJob extends VideoFields {
  readonly id: string;
  readonly model: string;
  /** The label that its creator gave it. */
  readonly label: string | null;
  readonly createdAtMs: number;
  readonly durationMs: number;
  readonly fails: boolean;
}

export interface VideoState {
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed';
  readonly progress: number;
}

type Begun =
  | { readonly kind: 'begun'; readonly job: VideoJob; readonly playback: Playback }
  | { readonly kind: 'refused'; readonly reply: BodyReply };

/**
 * The jobs of all video APIs. A job is its creation time and its duration; its state follows from the clock. It is
 * created before the request is answered, so it also exists if the model's name asks for a lost answer.
 */
export class VideoJobs {
  private readonly jobs = new BoundedStore<VideoJob>(MAXIMUM_JOBS);
  private readonly byIdempotencyKey = new BoundedStore<{ readonly bodyHash: string; readonly job: VideoJob }>(
    MAXIMUM_JOBS,
  );

  constructor(
    private readonly start: InferenceStart,
    private readonly defaultDurationMs: number,
  ) {}

  begin(fields: VideoFields, names: { readonly idempotencyKey: string | null; readonly label: string | null }): Begun {
    const identity = Buffer.from(JSON.stringify(fields));
    const { model, playback, refusal } = this.start.begin('openai', fields.model, identity);
    if (refusal) return { kind: 'refused', reply: refusal };
    const { idempotencyKey: key, label } = names;
    const bodyHash = hash('sha256', identity, 'hex');
    const known = key === null ? undefined : this.byIdempotencyKey.get(key);
    if (known && known.bodyHash !== bodyHash) {
      throw new SandboxError(409, 'This Idempotency-Key was used with another body', null, 'idempotency_key_reused');
    }
    if (known) return { kind: 'begun', job: known.job, playback };
    this.start.counts.countPrompt(promptHash(fields.prompt));
    const job: VideoJob = {
      ...fields,
      id: nextId('video_'),
      model: model.name,
      label,
      createdAtMs: Date.now(),
      durationMs: model.behaviour.videoMs ?? this.defaultDurationMs,
      fails: model.behaviour.videoEnd === 'failed',
    };
    this.jobs.set(job.id, job);
    if (key !== null) this.byIdempotencyKey.set(key, { bodyHash, job });
    return { kind: 'begun', job, playback };
  }

  get(id: string): VideoJob {
    const job = this.jobs.get(id);
    if (!job) throw new SandboxError(404, 'No such video', 'video_id');
    return job;
  }

  /** Newest first. */
  list(): readonly VideoJob[] {
    return this.jobs.list();
  }

  remove(id: string): VideoJob {
    const job = this.get(id);
    this.jobs.delete(id);
    return job;
  }
}

export function stateOf(job: VideoJob): VideoState {
  const share = job.durationMs === 0 ? 1 : (Date.now() - job.createdAtMs) / job.durationMs;
  if (share < QUEUED_SHARE) return { status: 'queued', progress: 0 };
  const progress = Math.min(99, Math.floor((100 * (share - QUEUED_SHARE)) / (1 - QUEUED_SHARE)));
  if (share < 1) return { status: 'in_progress', progress };
  return job.fails ? { status: 'failed', progress } : { status: 'completed', progress: 100 };
}

/** `seconds` may be a number or a string, because clients send both. */
export function readFields(model: unknown, prompt: unknown, secondsMember: unknown, sizeMember: unknown): VideoFields {
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
