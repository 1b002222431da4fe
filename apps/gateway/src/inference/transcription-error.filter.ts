import { Catch } from '@nestjs/common';
import { toEnvelope, type AppError } from '@libs/errors';
import type { ErrorResponse } from '@libs/platform';
import { InferenceErrorFilter, type ExplainedRequest } from './inference-error.filter';
import { transcriptionStatus } from './transcription-status';

/** Errors of transcriptions, with the statuses that only they have. */
@Catch()
export class TranscriptionErrorFilter extends InferenceErrorFilter {
  protected override responseOf(error: AppError, request: ExplainedRequest): ErrorResponse {
    return { ...super.responseOf(error, request), status: transcriptionStatus(error) };
  }

  protected override bodyOf(error: AppError): object {
    const envelope = toEnvelope(error);
    return { error: { ...envelope.error, code: transcriptionStatus(error) } };
  }
}
