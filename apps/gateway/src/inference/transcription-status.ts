import type { AppError } from '@libs/errors';

/**
 * The status of an error of a transcription (interface §4.5, §7), which tells apart who it comes from: 504 is
 * our own timer and 524 the provider's, 503 is our own overload and 529 the provider's.
 */
export function transcriptionStatus({ code, status, metadata }: AppError): number {
  // Only what an upstream itself has said has its code.
  const isTold = metadata?.['provider_code'] !== undefined;
  if (isTold && code === 'timeout') return 524;
  return isTold && code === 'provider_overloaded' ? 529 : status;
}
