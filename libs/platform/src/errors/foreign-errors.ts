import { HttpException } from '@nestjs/common';
import { AppError, type ErrorCode } from '@libs/errors';

interface Meaning {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Our error for each status of the HTTP framework. Its own messages may repeat URLs, so they are not shown. */
const MEANINGS: Readonly<Record<number, Meaning>> = {
  400: { code: 'invalid_request', message: 'The request could not be read' },
  401: { code: 'authentication', message: 'Authentication is required' },
  402: { code: 'payment_required', message: 'Payment is required' },
  403: { code: 'permission_denied', message: 'Not allowed' },
  404: { code: 'not_found', message: 'Not found' },
  405: { code: 'method_not_allowed', message: 'Method not allowed' },
  406: { code: 'invalid_request', message: 'No acceptable representation' },
  408: { code: 'request_timeout', message: 'The request took too long to arrive' },
  409: { code: 'conflict', message: 'Conflict' },
  410: { code: 'gone', message: 'Gone' },
  412: { code: 'precondition_failed', message: 'Precondition failed' },
  413: { code: 'payload_too_large', message: 'The request body is too large' },
  414: { code: 'invalid_request', message: 'The URL is too long' },
  // The API has no 415: a wrong media type is an invalid request.
  415: { code: 'invalid_request', message: 'Unsupported media type' },
  422: { code: 'unprocessable', message: 'The request could not be processed' },
  429: { code: 'rate_limit_exceeded', message: 'Too many requests' },
  502: { code: 'provider_unavailable', message: 'Bad gateway' },
  503: { code: 'provider_overloaded', message: 'Service unavailable' },
  504: { code: 'timeout', message: 'Timed out' },
};

/**
 * Converts anything that reached the HTTP filter to an AppError.
 *
 * A status is accepted only from the HTTP framework itself. Errors of other libraries have a `statusCode` too, for
 * instance that of a provider's answer, which must not become ours.
 */
export function fromHttpFramework(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const status = frameworkStatus(thrown);
  if (status === null) return AppError.from(thrown);
  const fallback: Meaning | null =
    status >= 400 && status < 500 ? { code: 'invalid_request', message: 'The request could not be read' } : null;
  const meaning = MEANINGS[status] ?? fallback;
  if (!meaning) return AppError.from(thrown);
  const internal = thrown instanceof Error ? thrown.message : undefined;
  return new AppError(meaning.code, meaning.message, { cause: thrown, internal });
}

function frameworkStatus(thrown: unknown): number | null {
  if (thrown instanceof HttpException) return thrown.getStatus();
  if (!(thrown instanceof Error)) return null;
  const { code, statusCode, status, expose } = thrown as HttpErrorShape;
  if (typeof statusCode !== 'number') return null;
  const ofFastify = typeof code === 'string' && code.startsWith('FST_');
  const ofHttpErrors = typeof expose === 'boolean' && status === statusCode;
  return ofFastify || ofHttpErrors ? statusCode : null;
}

interface HttpErrorShape {
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly status?: unknown;
  readonly expose?: unknown;
}
