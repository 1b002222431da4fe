import type { AppError } from '@libs/errors';

/** What was answered of a request that took several calls. */
export interface AnsweredPart {
  /** The results as one answer. */
  readonly body: Buffer;
  readonly calls: number;
  /** Whether the input at this index of the request was in one of these calls. */
  hasInput(index: number): boolean;
}

/** Stored outside the errors, because the content of an error may be shown to callers. */
const parts = new WeakMap<AppError, () => AnsweredPart>();

/** Returns the error of one of several calls, with the part that the successful calls answered noted. */
export function noteAnsweredPart(error: AppError, part: () => AnsweredPart): AppError {
  parts.set(error, part);
  return error;
}

/** Returns the part that `noteAnsweredPart` stored; null if no call was answered. */
export function answeredPartOf(error: AppError): AnsweredPart | null {
  return parts.get(error)?.() ?? null;
}

export function hasAnsweredPart(error: AppError): boolean {
  return parts.has(error);
}
