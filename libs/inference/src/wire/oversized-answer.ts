import { AppError } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';

const oversized = new WeakSet<AppError>();

/**
 * Returns the error of an answer that is too long to be read. The caller asked for it (many answers, probabilities of
 * each token) and the provider has done the work. So it is charged, and no other endpoint is tried.
 */
export function oversizedAnswer({ slug }: Provider, mostBytes: number): AppError {
  return oversizedError(
    `The answer is longer than ${mebibytes(mostBytes)} MiB. Ask for fewer or shorter answers, or stream them`,
    `upstream ${slug}: the body is too long`,
  );
}

/**
 * Returns the error of a stream event that is too long. The caller asked for a large picture, or for long instructions
 * that the event repeats.
 */
export function oversizedEvent({ slug }: Provider, mostBytes: number): AppError {
  return oversizedError(
    `An event of the stream is longer than ${mebibytes(mostBytes)} MiB. Ask for less, or do not stream the answer`,
    `upstream ${slug}: an event of the stream is too long`,
  );
}

/** Returns the error of a stream whose last event would have to repeat too much. */
export function oversizedStream({ slug }: Provider, mostBytes: number): AppError {
  return oversizedError(
    `The answer is longer than ${mebibytes(mostBytes)} MiB, and the last event of the stream repeats it. Ask for less`,
    `upstream ${slug}: the stream is too long`,
  );
}

/** Returns the error of an answer, or of an event of a stream, that has more values than are parsed. */
export function denseAnswer({ slug }: Provider): AppError {
  return oversizedError(
    'The answer has more values than are read. Ask for fewer answers or fewer probabilities',
    `upstream ${slug}: the answer has too many values`,
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
