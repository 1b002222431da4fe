import type { JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import { isConversationApi } from '../apis/apis';
import type { Endpoint } from '../catalogue/catalogue-entries';
import type { CallableApi } from '../dialects/dialect-pairs';
import type { EndpointNeed } from '../model/endpoint-need';
import { toolsSentIn } from '../model/provider-tools';
import { accountReferenceIn, ownAccountNeed } from './account-references';
import type { Candidate } from './planned-route';
import { needOfTool } from './tool-needs';

/**
 * Refuses a body that must not be sent with the operator's key: it names an object in the provider's account, or asks
 * for a provider's tool that has no price here. A batch line was checked when the batch began, but the caller's own key
 * for which it was checked may have been refused or deleted since then.
 * @throws AppError invalid_request with the name of the field
 */
export function checkForSharedCapacity(api: CallableApi, body: JsonObject, endpoint: Endpoint): void {
  const unmet = unmetNeed(api, body, endpoint);
  if (unmet !== undefined) throw refusalOf(unmet);
}

/**
 * Returns the candidates of one endpoint to which a body may be sent.
 * @throws AppError as `checkForSharedCapacity`, if there is none
 */
export function payableCandidates(
  api: CallableApi,
  body: JsonObject,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const shared = candidates.find(({ credential }) => !credential);
  const unmet = shared && unmetNeed(api, body, shared.endpoint);
  if (unmet === undefined) return candidates;
  const own = candidates.filter(({ credential }) => credential);
  if (own.length === 0) throw refusalOf(unmet);
  return own;
}

/** Returns a requirement of a body that the shared capacity of an endpoint does not meet; undefined if it meets all. */
function unmetNeed(api: CallableApi, body: JsonObject, endpoint: Endpoint): EndpointNeed | undefined {
  return needsOf(api, body).find(({ isMetBy }) => !isMetBy(endpoint, null));
}

function refusalOf({ member, message }: EndpointNeed): AppError {
  return new AppError('invalid_request', message, { metadata: { param: member } });
}

function needsOf(api: CallableApi, body: JsonObject): readonly EndpointNeed[] {
  const tools = isConversationApi(api) ? toolsSentIn(body, () => false).map((tool) => needOfTool(api, tool)) : [];
  const reference = accountReferenceIn(body);
  return reference === null ? tools : [...tools, ownAccountNeed(reference)];
}
