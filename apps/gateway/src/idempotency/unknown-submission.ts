import { AppError } from '@libs/errors';
import type { CommitUnknown } from '@libs/persistence';

const RETRY_AFTER_SECONDS = 5;

/**
 * PostgreSQL failed while it committed a submission, and was not back in time to look up the outcome. The caller gets
 * 503. It is not a refusal: the batch or video may exist, so none of its data may be removed.
 */
export class UnknownSubmission extends AppError {
  constructor(kind: 'batch' | 'video', id: string, cause: CommitUnknown) {
    const place = kind === 'batch' ? '/batches' : '/videos';
    const advice = `ask for GET ${place}/${id} before you send it again, or repeat it with the same Idempotency-Key`;
    super('unavailable', `It is not known yet whether the ${kind} was accepted: ${advice}`, {
      cause,
      internal: `the commit of ${id} could not be looked up: ${cause.internal}`,
      metadata: { [`${kind}_id`]: id },
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
}
