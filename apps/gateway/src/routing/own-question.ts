import type { Principal } from '@libs/contracts';
import { APIS, likelyPromptTokens, readRouteFacts, readRoutePolicies } from '@libs/inference';
import { credentialScopeOf } from './credential-scope';

/** A chat completion that the gateway itself asks for on the bill of a call. */
type OwnRequest = Readonly<Record<string, unknown>> & { readonly model: string };

/**
 * Returns what the engine is asked with for a question of our own: it is routed with the keys and under the policies of
 * the caller, as the caller's own calls are.
 *
 * @param body the request as it is sent
 */
export function ownQuestion(request: OwnRequest, body: Buffer, caller: Principal) {
  return {
    ...readRouteFacts(request),
    model: request.model,
    body,
    expected: () => APIS.chat.outputOf(request),
    estimatedPromptTokens: likelyPromptTokens(body),
    scope: credentialScopeOf(caller),
    defaultSort: caller.settings?.default_provider_sort,
    policies: caller.policies && readRoutePolicies(caller.policies),
  };
}
