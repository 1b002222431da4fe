import type { AppError } from '@libs/errors';
import type { Api } from '../catalogue/catalogue';

/**
 * HTTP statuses of timeouts, for APIs that report our own and the provider's timeouts differently or use unusual
 * statuses.
 */
interface TimeoutStatus {
  readonly ours: number;
  readonly provider: number;
}

/**
 * APIs whose statuses show who failed: 503 is the gateway's own overload and 529 the provider's. Embeddings have no
 * 504.
 */
const WHO_FAILED: Readonly<Partial<Record<Api, TimeoutStatus>>> = {
  transcription: { ours: 504, provider: 524 },
  embeddings: { ours: 524, provider: 524 },
};

/** Returns the HTTP status for an error of a call. The answer, the record and each attempt with this error have it. */
export function callStatus(api: Api, { code, status, metadata }: AppError): number {
  const timeout = WHO_FAILED[api];
  if (timeout === undefined) return status;
  // Only errors that an upstream itself reported have its code.
  const isProviders = metadata?.['provider_code'] !== undefined;
  if (code === 'timeout') return isProviders ? timeout.provider : timeout.ours;
  return isProviders && code === 'provider_overloaded' ? 529 : status;
}
