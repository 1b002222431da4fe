import { AppError } from '@libs/errors';

/**
 * Returns the `Idempotency-Key` of a submission, or null if it has none: 1 to 255 printable ASCII characters.
 * @throws AppError invalid_request
 */
export function readIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && /^[\x20-\x7e]{1,255}$/.test(header)) return header;
  throw new AppError('invalid_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters', {
    metadata: { param: 'Idempotency-Key' },
  });
}
