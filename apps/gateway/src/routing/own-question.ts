import type { Principal } from '@libs/contracts';
import { APIS, likelyPromptTokens, readRouteFacts, readRoutePolicies } from '@libs/inference';
import { credentialScopeOf } from './credential-scope';

/** A chat completion that the gateway itself requests at the expense of a call. */
type OwnRequest = Readonly<Record<string, unknown>> & { readonly model: string };

/**
 * Returns the engine's input for a request of the gateway itself. It is routed with the caller's keys and policies,
 * like the caller's own calls.
 * @param body the request in the form in which it is sent
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
