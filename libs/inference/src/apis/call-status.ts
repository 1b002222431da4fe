import type { AppError } from '@libs/errors';
import type { Api } from '../catalogue/catalogue';

/** Statuses of timers where those of our own and of the provider differ, or have one that is not usual. */
interface TimeoutStatus {
  readonly ours: number;
  readonly provider: number;
}

/**
 * The APIs whose statuses say who failed: 503 is our own overload and 529 the provider's.
 * Embeddings know no 504.
 */
const WHO_FAILED: Readonly<Partial<Record<Api, TimeoutStatus>>> = {
  transcription: { ours: 504, provider: 524 },
  embeddings: { ours: 524, provider: 524 },
};

/** Returns the status of an error of a call: of its answer, of its record, and of each attempt that ended so. */
export function callStatus(api: Api, { code, status, metadata }: AppError): number {
  const timeout = WHO_FAILED[api];
  if (timeout === undefined) return status;
  // Only what an upstream itself has said has its code.
  const isProviders = metadata?.['provider_code'] !== undefined;
  if (code === 'timeout') return isProviders ? timeout.provider : timeout.ours;
  return isProviders && code === 'provider_overloaded' ? 529 : status;
}
