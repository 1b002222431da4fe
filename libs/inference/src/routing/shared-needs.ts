import { AppError } from '@libs/errors';
import { isConversationApi } from '../apis/apis';
import type { Endpoint } from '../catalogue/catalogue-entries';
import type { CallableApi } from '../dialects/dialect-pairs';
import type { JsonObject } from '../json/loose-values';
import { toolsSentIn } from '../model/provider-tools';
import { accountReferenceIn, ownAccountNeed } from './account-references';
import type { Candidate } from './planned-route';
import type { EndpointNeed } from './route-request';
import { needOfTool } from './tool-needs';

/**
 * Refuses a body that must not be sent with the operator's key: it names something in the provider's account, or asks
 * for a tool of the provider that has no price here. A line of a batch was checked when the batch began, and the
 * caller's own key for which it was checked may be refused or deleted since then.
 *
 * @throws AppError invalid_request naming the member
 */
export function checkForSharedCapacity(api: CallableApi, body: JsonObject, endpoint: Endpoint): void {
  const unmet = needsOf(api, body).find(({ isMetBy }) => !isMetBy(endpoint, null));
  if (unmet !== undefined) {
    throw new AppError('invalid_request', unmet.message, { metadata: { param: unmet.member } });
  }
}

/** Returns those candidates that may be sent a body. @throws AppError as `checkForSharedCapacity`, if there is none */
export function payableCandidates(
  api: CallableApi,
  body: JsonObject,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const own = candidates.filter(({ credential }) => credential);
  if (own.length === candidates.length) return candidates;
  try {
    for (const { endpoint, credential } of candidates) if (!credential) checkForSharedCapacity(api, body, endpoint);
    return candidates;
  } catch (refusal) {
    if (own.length === 0) throw refusal;
    return own;
  }
}

function needsOf(api: CallableApi, body: JsonObject): readonly EndpointNeed[] {
  const tools = isConversationApi(api) ? toolsSentIn(body, () => false).map((tool) => needOfTool(api, tool)) : [];
  const reference = accountReferenceIn(body);
  return reference === null ? tools : [...tools, ownAccountNeed(reference)];
}
