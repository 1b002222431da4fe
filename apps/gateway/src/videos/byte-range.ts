import { AppError } from '@libs/errors';
import type { ByteRange } from '@libs/platform';

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Returns the single range of a `Range` header (RFC 9110 §14.2). Null if the whole content is meant: no header, another
 * unit, several ranges, or an invalid range.
 * @throws AppError range_not_satisfiable
 */
export function readByteRange(header: string | undefined, length: number): ByteRange | null {
  const [, from = '', to = ''] = RANGE.exec(header ?? '') ?? [];
  if (from === '') return to === '' ? null : suffixOf(Number(to), length);
  const first = Number(from);
  const last = to === '' ? Number.MAX_SAFE_INTEGER : Number(to);
  if (last < first) return null;
  if (first >= length) throw unsatisfiable(length);
  return { first, last: Math.min(last, length - 1) };
}

function suffixOf(wished: number, length: number): ByteRange {
  if (wished === 0) throw unsatisfiable(length);
  return { first: Math.max(0, length - wished), last: length - 1 };
}

function unsatisfiable(length: number): AppError {
  return new AppError('range_not_satisfiable', 'The range lies outside of the video', {
    headers: { 'Content-Range': `bytes */${length}` },
  });
}
