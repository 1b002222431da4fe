import { AppError } from '@libs/errors';
import type { CommitUnknown } from '@libs/persistence';

const RETRY_AFTER_SECONDS = 5;

/**
 * PostgreSQL went away while it committed a submission, and did not come back in time to be asked whether it did. 503,
 * and no refusal: the batch or video may be there, so nothing of it may be removed.
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
