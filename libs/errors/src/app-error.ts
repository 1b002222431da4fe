import { ERROR_CODES, isErrorCode, type ErrorCode } from './error-codes';

export interface AppErrorDetails {
  /** For our logs only; never leaves the process. */
  readonly internal?: string;
  /** For our logs only; never leaves the process. */
  readonly cause?: unknown;
  /** Shown to the caller with the message. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Shown with the metadata: why nothing can serve the request, and what the caller can do. */
  readonly availability?: Readonly<Record<string, unknown>>;
  /** Shown as the `Retry-After` header, in whole seconds, at least 1. */
  readonly retryAfterSeconds?: number;
  /** Extra response headers, e.g. the `X-RateLimit-*` trio. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The form of an AppError in a message. */
export interface AppErrorWire {
  readonly code: ErrorCode;
  readonly message: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly availability?: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
}

/**
 * The only error class of this project; `code` says which error it is.
 *
 * `message`, `metadata` and `availability` may be shown to the caller, so they contain field names and ids but never
 * values, secrets or another system's text. `internal` and `cause` are for our logs.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly internal: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
  readonly availability: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: ErrorCode, message: string, details: AppErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.internal = details.internal;
    this.metadata = details.metadata;
    this.availability = details.availability;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.headers = details.headers;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable;
  }

  toWire(): AppErrorWire {
    return {
      code: this.code,
      message: this.message,
      ...(this.metadata && { metadata: this.metadata }),
      ...(this.availability && { availability: this.availability }),
      ...(this.retryAfterSeconds !== undefined && { retryAfterSeconds: this.retryAfterSeconds }),
    };
  }

  /**
   * Reads an error from a message; anything that is not an AppError becomes `server`. Never throws, and keeps no detail
   * of another type: the sender may be under the control of an attacker.
   */
  static fromWire(wire: unknown): AppError {
    const fields: Partial<Record<keyof AppErrorWire, unknown>> = objectOf(wire) ?? {};
    const { code, message, metadata, availability, retryAfterSeconds: seconds } = fields;
    if (isErrorCode(code) && typeof message === 'string') {
      const retryAfterSeconds = typeof seconds === 'number' && seconds >= 0 ? seconds : undefined;
      return new AppError(code, message, {
        metadata: objectOf(metadata),
        availability: objectOf(availability),
        retryAfterSeconds,
      });
    }
    return new AppError('server', 'Internal error', { internal: 'unreadable error from the broker' });
  }

  /**
   * Converts any thrown value to an AppError. An unexpected error becomes `server`, with the cause kept for the logs.
   */
  static from(thrown: unknown): AppError {
    if (thrown instanceof AppError) return thrown;
    const internal = thrown instanceof Error ? thrown.message : 'a value that is no Error was thrown';
    return new AppError('server', 'Internal error', { cause: thrown, internal });
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
}
