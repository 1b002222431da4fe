import type { AppError } from '@libs/errors';

/** Kept outside the errors: what is in an error may be shown to callers. */
const parts = new WeakMap<AppError, () => Buffer>();

/** Returns the error with which one of several calls failed. It now has, as one answer, what the others brought. */
export function noteAnsweredPart(error: AppError, answer: () => Buffer): AppError {
  parts.set(error, answer);
  return error;
}

/** Returns the answer that `noteAnsweredPart` noted; null where nothing had been answered. */
export function answeredPartOf(error: AppError): Buffer | null {
  return parts.get(error)?.() ?? null;
}

export function hasAnsweredPart(error: AppError): boolean {
  return parts.has(error);
}
