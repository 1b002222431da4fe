import { Catch } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import { AppExceptionFilter, errorResponse, type ErrorResponse } from '@libs/platform';
import { oauthMeaningOf } from './oauth-errors';

/** Answers errors of the token endpoint in the OAuth format (RFC 6749 §5.2). */
@Catch()
export class OauthErrorFilter extends AppExceptionFilter {
  protected override responseOf(error: AppError): ErrorResponse {
    const { error: code, status } = oauthMeaningOf(error);
    const description = status === 500 ? 'Internal error' : error.message;
    const response = errorResponse(error, { error: code, error_description: description });
    return { ...response, status, headers: { ...response.headers, 'cache-control': 'no-store', pragma: 'no-cache' } };
  }
}
