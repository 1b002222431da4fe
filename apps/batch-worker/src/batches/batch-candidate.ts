import { AppError } from '@libs/errors';
import {
  API_OF_BATCH,
  isBatchEndpoint,
  isStandardTier,
  type CallableApi,
  type Candidate,
  type Catalogue,
} from '@libs/inference';

/** Returns the API of a batch's `endpoint`. @throws AppError server */
export function apiOf(endpoint: string): CallableApi {
  if (isBatchEndpoint(endpoint)) return API_OF_BATCH[endpoint];
  throw new AppError('server', 'Internal error', { internal: `no lane for ${endpoint}` });
}

/** The endpoint for which a batch was accepted. */
export interface BatchTarget {
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
}

/**
 * Returns the endpoint of a batch from the current catalogue.
 * @throws AppError provider_unavailable if it was removed
 */
export function candidateOf(target: BatchTarget, catalogue: Catalogue): Candidate {
  const model = catalogue.findModel(target.model);
  const endpoints = model?.endpoints.filter(
    ({ provider, upstreamModel }) => provider.slug === target.provider && upstreamModel === target.upstreamModel,
  );
  const endpoint = endpoints?.find(isStandardTier) ?? endpoints?.[0];
  if (model === null || endpoint === undefined) {
    throw new AppError('provider_unavailable', 'The provider of this batch is not available');
  }
  return { model, endpoint };
}
