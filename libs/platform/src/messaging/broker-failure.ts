import { isNativeError } from 'node:util/types';
import { AppError } from '@libs/errors';

/** The time in which a lost connection is usually back. */
const RETRY_AFTER_SECONDS = 2;

/** Trouble between this process and the broker, or an owner that is not there: the caller may try again soon. */
export function brokerFailure(internal: string, cause?: unknown): AppError {
  return new AppError('unavailable', 'The service is temporarily unavailable', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    internal,
    cause,
  });
}

/** A message that is wrong in itself, so that trying again does not help. */
export function messageFailure(internal: string): AppError {
  return new AppError('server', 'Internal error', { internal });
}

/** Returns the log text for a thrown value. Never logs the value itself, which may contain a URL with a password. */
export function describeFailure(thrown: unknown): string {
  if (thrown instanceof AppError) {
    const cause = thrown.cause === undefined ? '' : ` (${describeFailure(thrown.cause)})`;
    return `${thrown.code}: ${thrown.internal ?? thrown.message}${cause}`;
  }
  if (!isNativeError(thrown)) return 'a value that is no Error was thrown';
  // A connection that failed for every address of a host has no message of its own.
  if (thrown.message === '' && 'errors' in thrown) return (thrown.errors as unknown[]).map(describeFailure).join(', ');
  return thrown.message;
}

/** Returns the reply code of an AMQP exception (AMQP 0-9-1 §1.2), such as 404 or 541. */
export function amqpCode(thrown: unknown): number | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  if ('code' in thrown && typeof thrown.code === 'number') return thrown.code;
  return 'cause' in thrown ? amqpCode(thrown.cause) : undefined;
}
