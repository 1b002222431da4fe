import { AppError } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';

const oversized = new WeakSet<AppError>();

/**
 * The error of an answer that is longer than can be read. Its caller asked for it (many answers, probabilities of each
 * token) and its provider has done the work, so it is charged, and no other endpoint is asked for the same.
 */
export function oversizedAnswer({ slug }: Provider, mostBytes: number): AppError {
  return oversizedError(
    `The answer is longer than ${mebibytes(mostBytes)} MiB. Ask for fewer or shorter answers, or stream them`,
    `upstream ${slug}: the body is too long`,
  );
}

/** The same of an event of a stream: its caller asked for a large picture, or for long instructions that it repeats. */
export function oversizedEvent({ slug }: Provider, mostBytes: number): AppError {
  return oversizedError(
    `An event of the stream is longer than ${mebibytes(mostBytes)} MiB. Ask for less, or do not stream the answer`,
    `upstream ${slug}: an event of the stream is too long`,
  );
}

function oversizedError(message: string, internal: string): AppError {
  const error = new AppError('unprocessable', message, { internal });
  oversized.add(error);
  return error;
}

function mebibytes(bytes: number): number {
  return Math.floor(bytes / (1024 * 1024));
}

export function isOversized(error: AppError): boolean {
  return oversized.has(error);
}
