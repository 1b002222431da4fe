import { AppError } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';

const oversized = new WeakSet<AppError>();

/**
 * The error of an answer that is longer than can be read. Its caller asked for it (many answers, probabilities of each
 * token) and its provider has done the work, so it is charged, and no other endpoint is asked for the same.
 */
export function oversizedAnswer({ slug }: Provider, mostBytes: number): AppError {
  const mostMebibytes = Math.floor(mostBytes / (1024 * 1024));
  const error = new AppError(
    'unprocessable',
    `The answer is longer than ${mostMebibytes} MiB. Ask for fewer or shorter answers, or stream them`,
    { internal: `upstream ${slug}: the body is too long` },
  );
  oversized.add(error);
  return error;
}

export function isOversized(error: AppError): boolean {
  return oversized.has(error);
}
