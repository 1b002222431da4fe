import { hash } from 'node:crypto';
import { BoundedCounts, type CallCounts } from '../http/call-counts';
import { errorReply, SandboxError, type Dialect } from '../http/sandbox-error';
import { parseModelName, type Behaviour, type Failure, type NamedModel } from './model-behaviour';
import type { BodyReply, Playback } from '../http/reply';
import { ChargeBook, type ServedTokens } from '../reports/charge-book';

export interface StartedInference {
  readonly model: NamedModel;
  readonly playback: Playback;
  /** Set when the model name scripts an error status for this call: it is the whole answer. */
  readonly refusal: BodyReply | null;
}

/** The beginning of every inference call: reads the model name, counts the call, decides whether it fails. */
export class InferenceStart {
  constructor(
    readonly counts: CallCounts,
    readonly charges: ChargeBook = new ChargeBook(),
    private readonly attempts = new BoundedCounts(),
    private readonly isBatch = false,
  ) {}

  /** Returns the same for the lines of batches, which are charged as such. */
  forBatches(): InferenceStart {
    return new InferenceStart(this.counts, this.charges, this.attempts, true);
  }

  /** Adds an answer to the reports of charges. */
  charge(dialect: Dialect, model: NamedModel, tokens: Omit<ServedTokens, 'cachedTokens'>, isEmbedding = false): void {
    const cachedTokens = isEmbedding ? 0 : Math.min(model.behaviour.cachedTokens, tokens.promptTokens);
    const cell = { form: dialect, model: model.name, isBatch: this.isBatch, isEmbedding };
    this.charges.serve(cell, { ...tokens, cachedTokens });
  }

  /** `identity` is what makes two calls the same call: the body, or for a multipart form the uploaded bytes. */
  begin(dialect: Dialect, modelMember: unknown, identity: Buffer): StartedInference {
    const model = parseModelName(modelMember);
    const { behaviour } = model;
    const isGated = behaviour.failTimes !== null || behaviour.failRate !== null;
    let bodyHash = '';
    if (isGated || this.counts.recording) {
      bodyHash = hash('sha256', identity, 'hex');
      this.counts.countBody(bodyHash);
    }
    const failure = isGated ? this.gate(behaviour, bodyHash) : behaviour.failure;
    if (failure?.kind === 'status') {
      const playback = playbackOf(behaviour, null);
      return { model, playback, refusal: scriptedError(dialect, failure.status, behaviour, playback) };
    }
    return { model, playback: playbackOf(behaviour, failure), refusal: null };
  }

  /** Forgets how often each body was seen. */
  reset(): void {
    this.attempts.clear();
  }

  private gate(behaviour: Behaviour, bodyHash: string): Failure | null {
    const attempt = this.attempts.add(bodyHash);
    if (behaviour.failTimes !== null && attempt > behaviour.failTimes) return null;
    if (behaviour.failRate !== null) {
      const draw = hash('sha256', `${bodyHash}:${attempt}`, 'buffer').readUInt32BE(0) / 2 ** 32;
      if (draw >= behaviour.failRate) return null;
    }
    return behaviour.failure;
  }
}

function playbackOf(behaviour: Behaviour, fault: Playback['fault']): Playback {
  return { latencyMs: behaviour.latencyMs, chunkMs: behaviour.chunkMs, fault };
}

function scriptedError(dialect: Dialect, status: number, behaviour: Behaviour, playback: Playback): BodyReply {
  const error = new SandboxError(status, `[sandbox] The model name asked for status ${status}`);
  const retryAfter = behaviour.retryAfterSeconds;
  return errorReply(dialect, error, retryAfter === null ? [] : ['retry-after', String(retryAfter)], playback);
}
