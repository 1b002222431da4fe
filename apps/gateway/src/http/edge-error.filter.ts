import { Catch } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import { messageErrorBody } from '@libs/inference';
import { AppExceptionFilter, errorResponse, type ErrorResponse } from '@libs/platform';
import type { FastifyRequest } from 'fastify';
import { isForMessages } from './paths';

/** Answers errors of routes that have no error format of their own, and of requests without a route. */
@Catch()
export class EdgeErrorFilter extends AppExceptionFilter {
  protected override responseOf(error: AppError, request: FastifyRequest): ErrorResponse {
    return edgeErrorResponse(error, request);
  }
}

/** Returns the response to an error in the format of the API that the path belongs to. */
export function edgeErrorResponse(error: AppError, { url, id }: Pick<FastifyRequest, 'url' | 'id'>): ErrorResponse {
  return isForMessages(url) ? errorResponse(error, messageErrorBody(error, id)) : errorResponse(error);
}
