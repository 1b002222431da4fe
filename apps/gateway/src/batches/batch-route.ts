import { AppError } from '@libs/errors';
import {
  API_OF_BATCH,
  expiredRefusal,
  isStandardTier,
  unknownModelMessage,
  upstreamApiFor,
  utcDay,
  type Api,
  type Catalogue,
  type Endpoint,
} from '@libs/inference';
import type { BatchHeader } from './batch-header';

/** Suffixes that are routing hints for single calls. They have no effect for a batch, which runs on one endpoint. */
const VARIANT = /:(free|nitro|floor|exacto|online|thinking|extended)$/;

/** The endpoints and keys that the caller of a batch can use. */
export interface BatchAccess {
  /** Returns whether there is an adapter for the API and a key for the provider. */
  readonly isUsable: (endpoint: Endpoint, api: Api) => boolean;
  /** Returns whether an endpoint would be called with a key of the caller's own. */
  readonly hasOwnKey: (endpoint: Endpoint) => boolean;
  /** Returns the endpoints that the caller's policies allow. @throws AppError permission_denied if they allow none */
  readonly permit: (endpoints: readonly Endpoint[]) => Endpoint[];
}

/**
 * Returns the one endpoint on which a batch will run: the cheapest eligible one. If the caller has own keys for some of
 * them, only these are considered.
 * @throws AppError invalid_request (unknown or incompatible model, unknown provider), unprocessable (model variant),
 * not_found (an expired model, or nothing eligible is left), permission_denied (a policy forbids all eligible ones)
 */
export function routeBatch(
  header: BatchHeader,
  catalogue: Catalogue,
  { isUsable, hasOwnKey, permit }: BatchAccess,
  nowMs = Date.now(),
): Endpoint {
  if (VARIANT.test(header.model)) {
    throw new AppError('unprocessable', 'Model variants cannot be used in a batch', { metadata: { param: 'model' } });
  }
  const model = catalogue.findModel(header.model);
  if (model === null) {
    throw new AppError('invalid_request', unknownModelMessage(header.model, catalogue), {
      metadata: { param: 'model' },
    });
  }
  const expired = expiredRefusal(model, utcDay(nowMs));
  if (expired !== null) throw expired;
  const api = API_OF_BATCH[header.endpoint];
  const capable = model.endpoints.filter(
    (endpoint) =>
      upstreamApiFor(api, endpoint, undefined) !== null &&
      endpoint.provider.batch !== 'none' &&
      isStandardTier(endpoint),
  );
  if (capable.length === 0) {
    throw new AppError('invalid_request', `model has no batch endpoint for ${header.endpoint}`, {
      metadata: { param: 'model' },
    });
  }
  const wanted = header.only?.map((slugOrName) => providerSlug(slugOrName, catalogue));
  const eligible = capable.filter(
    (endpoint) => isUsable(endpoint, api) && (wanted === undefined || wanted.includes(endpoint.provider.slug)),
  );
  const permitted = eligible.length === 0 ? [] : permit(eligible);
  const own = permitted.filter(hasOwnKey);
  const choice = own.length > 0 ? own : permitted;
  const [cheapest] = choice.sort((one, other) => compareRates(priceOf(one), priceOf(other)));
  if (cheapest === undefined) {
    throw new AppError('not_found', 'No provider can run this batch: change model or provider.only', {
      metadata: { param: 'provider.only' },
    });
  }
  return cheapest;
}

function providerSlug(slugOrName: string, catalogue: Catalogue): string {
  const provider = catalogue.providers().find((known) => known.slug === slugOrName || known.name === slugOrName);
  if (provider === undefined) {
    throw new AppError('invalid_request', 'provider.only names a provider that is not known here', {
      metadata: { param: 'provider.only' },
    });
  }
  return provider.slug;
}

function priceOf(endpoint: Endpoint): bigint {
  return endpoint.batchPricing.prompt + endpoint.batchPricing.completion;
}

function compareRates(one: bigint, other: bigint): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
