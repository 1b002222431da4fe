import { Catch } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import { AppExceptionFilter, errorResponse, ServicesEnv, type ErrorResponse } from '@libs/platform';
import { problemPage } from './consent-pages';
import { documentOf, pageHeaders } from './page';

/** Answers errors of the consent page as pages for people. */
@Catch()
export class ConsentErrorFilter extends AppExceptionFilter {
  constructor(private readonly env: ServicesEnv) {
    super();
  }

  protected override responseOf(error: AppError): ErrorResponse {
    const message = error.status === 500 ? 'Something went wrong on our side.' : error.message;
    const page = problemPage(error.status, message);
    const { headers } = errorResponse(error);
    return {
      status: error.status,
      headers: { ...headers, ...pageHeaders(page) },
      body: documentOf(page, this.env.SERVICE_NAME),
    };
  }
}
