import { Catch } from '@nestjs/common';
import { toEnvelope, type AppError } from '@libs/errors';
import { callStatus, type Api } from '@libs/inference';
import type { ErrorResponse } from '@libs/platform';
import { InferenceErrorFilter, type ExplainedRequest } from './inference-error.filter';

/** Answers errors of one API that has statuses of its own. */
@Catch()
export class CallErrorFilter extends InferenceErrorFilter {
  constructor(private readonly api: Api) {
    super();
  }

  protected override responseOf(error: AppError, request: ExplainedRequest): ErrorResponse {
    return { ...super.responseOf(error, request), status: callStatus(this.api, error) };
  }

  protected override bodyOf(error: AppError): object {
    const envelope = toEnvelope(error);
    return { error: { ...envelope.error, code: callStatus(this.api, error) } };
  }
}
