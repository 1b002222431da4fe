import { createHash, randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { PLAIN_ANSWERS, sealedAnswers, type AnswerKeeper } from './answer-seal';
import { IdempotencyKeysRepository, type IdempotencyClaim, type IdempotencySlot } from './idempotency-keys.repository';

/** A request under an `Idempotency-Key`. */
export interface IdempotentRequest {
  readonly organizationId: string;
  /** Method and path: the same key on another route is a different key. */
  readonly route: string;
  readonly key: string;
  readonly body: Buffer;
  /** The caller's credential, if the request or its answer contains a secret. Both are then stored sealed with it. */
  readonly sealWith: string | null;
}

export interface IdempotentAnswer {
  readonly answer: unknown;
  /** True if the answer was given before. */
  readonly isReplayed: boolean;
}

/** Longer than any request with an idempotency key may take. */
const LEASE_MS = 60_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Executes a request that is sent twice with one idempotency key only once.
 *
 * Why this is safe: the key is claimed in one statement before anything is done, so only one of several concurrent
 * requests executes. A refused request has done nothing and frees the key. An attempt with an unknown outcome (a
 * timeout, a process that died) leaves its claim, which the same request may claim again. It gets the same effect id,
 * by which the executing code can detect that the work was already done. Answers are stored for 24 hours.
 */
@Injectable()
export class IdempotencyService {
  private readonly logger = new Logger(IdempotencyService.name);

  constructor(private readonly keys: IdempotencyKeysRepository) {}

  /**
   * Returns the answer of `effect`, or the stored answer if the same request was executed before.
   * @param effect receives an id that stays the same for all attempts of the request
   * @throws AppError unprocessable for a key that was used for another request; conflict while it is being executed
   */
  async once(request: IdempotentRequest, effect: (effectId: string) => Promise<unknown>): Promise<IdempotentAnswer> {
    const { organizationId, route } = request;
    const slot = { organizationId, route, keyHash: createHash('sha256').update(request.key).digest() };
    const keeper = request.sealWith === null ? PLAIN_ANSWERS : sealedAnswers(request.sealWith, slot);
    const digest = keeper.digest(request.body);
    const claim = await this.keys.claim(slot, digest, randomUUID(), LEASE_MS);
    if (claim === null) return { answer: await this.earlierAnswer(slot, digest, keeper), isReplayed: true };
    const answer = await this.attempt(slot, claim, effect);
    await this.keep(slot, claim, keeper.keep(Buffer.from(JSON.stringify(answer))));
    return { answer, isReplayed: false };
  }

  private async earlierAnswer(slot: IdempotencySlot, digest: Buffer, keeper: AnswerKeeper): Promise<unknown> {
    const earlier = await this.keys.find(slot);
    if (earlier !== null && !earlier.requestDigest.equals(digest)) throw anotherRequest();
    if (earlier === null || earlier.answer === null) throw stillRunning();
    return JSON.parse(keeper.read(earlier.answer).toString());
  }

  private async attempt(
    slot: IdempotencySlot,
    claim: IdempotencyClaim,
    effect: (effectId: string) => Promise<unknown>,
  ): Promise<unknown> {
    try {
      return await effect(claim.effectId);
    } catch (error) {
      const isRefusal = AppError.from(error).status < 500;
      await this.noted(isRefusal ? this.keys.forget(slot, claim) : this.keys.endAttempt(slot, claim));
      throw error;
    }
  }

  private async keep(slot: IdempotencySlot, claim: IdempotencyClaim, answer: Buffer): Promise<void> {
    await this.noted(this.keys.keepAnswer(slot, claim, answer));
  }

  /**
   * An error is only logged: the work is done, so the caller gets its answer, and a retry finds the claim unchanged.
   */
  private async noted(step: Promise<unknown>): Promise<void> {
    await step.catch((error: unknown) => {
      this.logger.warn('An idempotency key could not be written', { err: AppError.from(error) });
    });
  }
}

function anotherRequest(): AppError {
  return new AppError('unprocessable', 'Idempotency-Key was used before with another body or by another key', {
    metadata: { param: 'Idempotency-Key' },
  });
}

function stillRunning(): AppError {
  return new AppError('conflict', 'The request of this Idempotency-Key is still being answered', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
