import { AppError } from '@libs/errors';
import {
  API_OF_BATCH,
  isBatchEndpoint,
  isStandardTier,
  type CallableApi,
  type Candidate,
  type Catalogue,
} from '@libs/inference';

/** How the requests of a batch's `endpoint` are called. @throws AppError server */
export function apiOf(endpoint: string): CallableApi {
  if (isBatchEndpoint(endpoint)) return API_OF_BATCH[endpoint];
  throw new AppError('server', 'Internal error', { internal: `no lane for ${endpoint}` });
}

/** The endpoint that a batch was accepted for. */
export interface BatchTarget {
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
}

/** The endpoint of a batch, as the catalogue has it now. @throws AppError provider_unavailable when it is gone */
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
