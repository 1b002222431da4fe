import { Catch } from '@nestjs/common';
import { isMasked, toEnvelope, type AppError } from '@libs/errors';
import { messageErrorBody } from '@libs/inference';
import { AppExceptionFilter, errorResponse, type ErrorResponse } from '@libs/platform';
import type { BodyRequest } from '../http/body.guard';

/** A request whose caller wants more details than the error. */
export interface ExplainedRequest extends BodyRequest {
  /** Top-level fields to add next to `error`. */
  besideError?: Readonly<Record<string, unknown>>;
}

/** Answers errors of calls to models: the standard error body, with the requested metadata next to the error. */
@Catch()
export class InferenceErrorFilter extends AppExceptionFilter {
  protected override responseOf(error: AppError, request: ExplainedRequest): ErrorResponse {
    return errorResponse(error, { ...this.bodyOf(error, request), ...besideOf(error, request) });
  }

  protected bodyOf(error: AppError, _request: ExplainedRequest): object {
    return toEnvelope(error);
  }
}

/** Answers errors of calls to `/messages` in the format of that API. */
@Catch()
export class MessagesErrorFilter extends InferenceErrorFilter {
  protected override bodyOf(error: AppError, request: ExplainedRequest): object {
    return messageErrorBody(error, request.id);
  }
}

/** Returns the fields next to `error`; none for an internal error, whose causes are not shown to callers. */
function besideOf(error: AppError, { besideError }: ExplainedRequest): object {
  return isMasked(error) ? {} : { ...besideError };
}
