import { Catch, Logger, type ArgumentsHost, type ExceptionFilter, type LoggerService } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorResponse, type ErrorResponse } from './error-response';
import { fromHttpFramework } from './foreign-errors';

/**
 * Converts every error to an HTTP response. An unexpected error is a 500: its details are logged and not sent to the
 * caller.
 *
 * A response that has already begun cannot become an error: its connection is closed, so that the caller sees a broken
 * response instead of a complete one with a second one inside.
 */
@Catch()
export class AppExceptionFilter implements ExceptionFilter {
  constructor(private readonly logger: LoggerService = new Logger(AppExceptionFilter.name)) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    if (host.getType() !== 'http') throw thrown;
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const error = fromHttpFramework(thrown);
    this.log(error, request);
    if (reply.raw.headersSent || reply.raw.destroyed) {
      if (!reply.raw.writableEnded) reply.raw.destroy();
      return;
    }
    send(this.responseOf(error, request), request, reply);
  }

  /** Returns the response to an error; filters for other error formats override it. */
  protected responseOf(error: AppError, _request: FastifyRequest): ErrorResponse {
    return errorResponse(error);
  }

  private log(error: AppError, request: FastifyRequest): void {
    const fields = {
      err: error,
      code: error.code,
      status: error.status,
      method: request.method,
      path: pathOf(request.url),
      requestId: request.id,
    };
    // A metric counts refusals because of overload. Logging each one would let unauthenticated callers fill the log.
    if (error.status >= 500 && error.code !== 'provider_overloaded') this.logger.error('Request failed', fields);
    else this.logger.debug?.('Request refused', fields);
  }
}

/** Headers that a handler may have set for a body that it then could not produce. */
const HEADERS_OF_A_BODY = ['content-length', 'content-encoding', 'transfer-encoding', 'etag', 'last-modified'] as const;

function send({ status, headers, body }: ErrorResponse, request: FastifyRequest, reply: FastifyReply): void {
  const payload = request.method === 'HEAD' ? undefined : body;
  if (reply.sent) {
    // The handler took the response over from the framework and then failed before the first byte.
    reply.raw.writeHead(status, headers).end(payload);
    return;
  }
  for (const name of HEADERS_OF_A_BODY) reply.removeHeader(name);
  void reply.status(status).headers(headers).send(payload);
}

/** Returns the path without the query, which may hold a credential by mistake. */
function pathOf(url: string | undefined): string {
  return (url ?? '').split('?', 1)[0] ?? '';
}
