import { shownValue } from '@libs/contracts';
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
  type Provider,
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
 * @throws AppError invalid_request (unknown or incompatible model), unprocessable (model variant), not_found (an expired
 * model, or nothing eligible is left), permission_denied (a policy forbids all eligible ones)
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
  const { only } = header;
  const eligible = capable.filter(
    (endpoint) => isUsable(endpoint, api) && (!only || only.some((name) => isNamed(endpoint.provider, name))),
  );
  const permitted = eligible.length === 0 ? [] : permit(eligible);
  const own = permitted.filter(hasOwnKey);
  const choice = own.length > 0 ? own : permitted;
  const [cheapest] = choice.sort((one, other) => compareRates(priceOf(one), priceOf(other)));
  if (cheapest === undefined) {
    const message = `No provider can run this batch: change model or provider.only${unknownNames(only, catalogue)}`;
    throw new AppError('not_found', message, { metadata: { param: 'provider.only' } });
  }
  return cheapest;
}

function isNamed({ slug, name }: Provider, slugOrName: string): boolean {
  return slug === slugOrName || name === slugOrName;
}

/** Returns which of the named providers the catalogue does not have, for the end of a message. */
function unknownNames(only: readonly string[] | null, catalogue: Catalogue): string {
  const unknown = (only ?? []).filter((name) => !catalogue.providers().some((provider) => isNamed(provider, name)));
  if (unknown.length === 0) return '';
  return `, which names providers that are not known here: ${unknown.map((name) => shownValue('only', name)).join(', ')}`;
}

function priceOf(endpoint: Endpoint): bigint {
  return endpoint.batchPricing.prompt + endpoint.batchPricing.completion;
}

function compareRates(one: bigint, other: bigint): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
