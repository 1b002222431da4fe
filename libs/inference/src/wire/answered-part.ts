import type { AppError } from '@libs/errors';

/** Stored outside the errors, because the content of an error may be shown to callers. */
const parts = new WeakMap<AppError, () => Buffer>();

/** Returns the error of one of several calls, with the results of the successful calls noted as one answer. */
export function noteAnsweredPart(error: AppError, answer: () => Buffer): AppError {
  parts.set(error, answer);
  return error;
}

/** Returns the answer that `noteAnsweredPart` stored; null if no call was answered. */
export function answeredPartOf(error: AppError): Buffer | null {
  return parts.get(error)?.() ?? null;
}

export function hasAnsweredPart(error: AppError): boolean {
  return parts.has(error);
}
