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

/** Message of every 500: it hides what went wrong inside. */
const MASKED_MESSAGE = 'Internal error';

export function toEnvelope(error: AppError): ErrorEnvelope {
  const masked = error.status === 500;
  return {
    error: {
      code: error.status,
      message: masked ? MASKED_MESSAGE : error.message,
      metadata: { error_type: wireErrorType(error.code), ...(masked ? {} : error.metadata) },
      ...(!masked && error.availability && { availability: error.availability }),
    },
  };
}
