import type { AppError } from './app-error';
import { wireErrorType } from './error-codes';

/** The standard error body: `code` equals the HTTP status. */
export interface ErrorEnvelope {
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
    /** Present only if no endpoint could serve the request. */
    readonly availability?: Readonly<Record<string, unknown>>;
  };
}

/** Message of a 500 of our own: it hides what went wrong inside. */
const MASKED_MESSAGE = 'Internal error';

/**
 * Returns whether an answer shows nothing of an error but its code: a 500, except one of a provider, which names the
 * provider and says nothing else.
 */
export function isMasked({ status, metadata }: AppError): boolean {
  return status === 500 && metadata?.['provider_name'] === undefined;
}

/** Returns the message of an error for callers. */
export function shownMessage(error: AppError): string {
  return isMasked(error) ? MASKED_MESSAGE : error.message;
}

export function toEnvelope(error: AppError): ErrorEnvelope {
  const masked = isMasked(error);
  return {
    error: {
      code: error.status,
      message: shownMessage(error),
      metadata: { error_type: wireErrorType(error.code), ...(masked ? {} : error.metadata) },
      ...(!masked && error.availability && { availability: error.availability }),
    },
  };
}
