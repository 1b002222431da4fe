import { findBodyLinkProblem, type WorkspaceSettings } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  APIS,
  definitionOf,
  readRouteFacts,
  readRoutePolicies,
  stickyKeyOf,
  type AllowedUses,
  type CallableApi,
  type CallBody,
  type ExpectedOutput,
  type RoutedRequest,
  type StickyKey,
} from '@libs/inference';
import { plainValidator } from '@libs/platform';
import type { IncomingCall } from '../generations/incoming-call';
import { credentialScopeOf } from '../routing/credential-scope';
import { routeWishOf, type RouteWish } from '../routing/route-request';

/** The request that a valid body contains. */
export interface CheckedCall extends ExpectedOutput {
  readonly route: RouteWish;
  /** Tool uses that providers may make, if they serve. */
  readonly toolUses: readonly AllowedUses[];
}

type JsonObject = Readonly<Record<string, unknown>>;
type Validator = (parsed: unknown) => CallBody;

const VALIDATORS = Object.fromEntries(
  Object.values(APIS).map(({ name, body }) => [name, plainValidator(body)]),
) as Readonly<Record<CallableApi, Validator>>;

/**
 * Validates the body for its API. A chat or Responses request without a model uses the default model of its workspace.
 * @throws AppError invalid_request with the name of the invalid field
 */
export function checkCall(api: CallableApi, parsed: unknown, settings?: WorkspaceSettings): CheckedCall {
  // Checked before the fields, because it limits the number of links that they check again.
  const link = findBodyLinkProblem(parsed as JsonObject);
  if (link === null) return checkMembers(api, parsed, settings);
  throw new AppError('invalid_request', `${link.path}${link.what}`, { metadata: { param: link.path } });
}

function checkMembers(api: CallableApi, parsed: unknown, settings?: WorkspaceSettings): CheckedCall {
  const { hasDefaultModel, hasFallbacks, outputOf, toolUsesOf } = APIS[api];
  const dto = VALIDATORS[api](parsed);
  const body = dto as object as JsonObject;
  // If an API has no `fallbacks`, the field is not validated.
  const models = dto.models ?? (hasFallbacks ? dto.fallbacks?.map((fallback) => fallback.model) : null);
  const wanted = { model: dto.model, models, provider: dto.provider, route: dto.route };
  const route = routeWishOf(wanted, hasDefaultModel ? settings?.default_text_model : undefined);
  return { ...outputOf(body), route, toolUses: toolUsesOf(body) };
}

const LONGEST_SESSION_ID = 256;

interface Session {
  readonly session_id?: string | null;
  readonly prompt_cache_key?: string | null;
}

/**
 * Returns the validated call in the form that routing and the engine use.
 * @throws AppError invalid_request for a long session id
 */
export function routedRequest(
  api: CallableApi | 'transcription',
  call: IncomingCall,
  route: RouteWish,
  estimatedPromptTokens: number,
): RoutedRequest {
  const { organizationId } = call.caller;
  const body = call.parsed as JsonObject;
  const session = body as Session;
  const sessionId = sessionIdOf(session, call);
  const definition = definitionOf(api);
  // Embeddings belong to no conversation unless the caller names one; transcriptions never do.
  const isConversation = definition !== null && (definition.generates || sessionId !== null);
  const { model, models, preferences } = route;
  return {
    ...readRouteFacts(body),
    model,
    models,
    preferences,
    generationId: call.generationId,
    body: call.body,
    parsed: body,
    signal: call.abort,
    betas: call.betas,
    estimatedPromptTokens: definition?.contextTokensOf(body, estimatedPromptTokens) ?? estimatedPromptTokens,
    stickyKey: isConversation
      ? onceMade(() => stickyKeyOf({ organizationId, sessionId, promptCacheKey: cacheKeyOf(session), body }))
      : undefined,
    scope: credentialScopeOf(call.caller),
    ownKeys: call.ownKeys,
    defaultSort: call.caller.settings?.default_provider_sort,
    policies: call.caller.policies && readRoutePolicies(call.caller.policies),
  };
}

/** Returns the session id. The body has precedence over the header. @throws AppError invalid_request for a long one */
function sessionIdOf(session: Session, call: IncomingCall): string | null {
  const sessionId = session.session_id || call.sessionId || null;
  if (sessionId !== null && (typeof sessionId !== 'string' || sessionId.length > LONGEST_SESSION_ID)) {
    throw new AppError('invalid_request', `The session id must be text of at most ${LONGEST_SESSION_ID} characters`, {
      metadata: { param: 'session_id' },
    });
  }
  return sessionId;
}

function onceMade(make: StickyKey): StickyKey {
  let made: string | null | undefined;
  return () => (made === undefined ? (made = make()) : made);
}

function cacheKeyOf({ prompt_cache_key: key }: Session): string | null {
  return typeof key === 'string' ? key : null;
}
