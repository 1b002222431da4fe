import type { AppError } from '@libs/errors';
import type { Api } from '../catalogue/catalogue';

/**
 * The status of an error of a call: of its answer, of its record, and of each attempt that ended so. Those of
 * transcriptions and embeddings (interface §4.5, §4.6, §7) tell apart who they come from: 503 is our own overload and
 * 529 the provider's; of a transcription, 504 is our own timer and 524 the provider's. Embeddings know no 504, so that
 * both timers are 524.
 */
export function callStatus(api: Api, { code, status, metadata }: AppError): number {
  if (api !== 'transcription' && api !== 'embeddings') return status;
  // Only what an upstream itself has said has its code.
  const isTold = metadata?.['provider_code'] !== undefined;
  if (code === 'timeout' && (isTold || api === 'embeddings')) return 524;
  return isTold && code === 'provider_overloaded' ? 529 : status;
}
