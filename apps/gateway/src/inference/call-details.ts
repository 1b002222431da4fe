import {
  formatUsd,
  toolCostTexts,
  totalToolCost,
  type Api,
  type Attempt,
  type Cost,
  type RoutedRequest,
  type Served,
  type StreamOutcome,
} from '@libs/inference';
import type { GenerationDetails } from '@libs/persistence';
import { soldTierOf } from '../generations/asked-call';
import { callerFacts, type NamingBody } from '../generations/caller-facts';
import { storedText } from '../generations/stored-text';
import type { LoopServed } from '../server-tools/server-tool-engine';
import type { IncomingCall } from '../generations/incoming-call';

/** A call as its record describes it. */
export interface RecordedCall {
  readonly api: Api;
  readonly call: Pick<IncomingCall, 'client' | 'parsed' | 'sessionId'>;
  readonly aim: { readonly request: Pick<RoutedRequest, 'mediaParts' | 'audioParts'> };
}

/** The endpoint that answered, in one turn or several. */
export type Server = Served & Partial<LoopServed>;

/** The usage, cost, id and finish reason of an answer. */
export type Ended = Pick<StreamOutcome, 'usage' | 'cost' | 'upstreamId' | 'finishReason' | 'nativeFinishReason'>;

/** Returns the call without its prompt, which may be long: a stream is recorded when it ends. */
export function withoutPrompt({ api, call, aim }: RecordedCall): RecordedCall {
  const { client, sessionId } = call;
  const { session_id, user, safety_identifier, metadata, trace } = call.parsed as NamingBody;
  const { mediaParts, audioParts } = aim.request;
  const parsed: NamingBody = { session_id, user, safety_identifier, metadata: { user_id: metadata?.user_id }, trace };
  return { api, call: { client, sessionId, parsed }, aim: { request: { mediaParts, audioParts } } };
}

/** Returns the details for the record of a call that no provider answered. */
export function callDetails({ api, call, aim }: RecordedCall, attempts: readonly Attempt[]): GenerationDetails {
  const { client, parsed } = call;
  const { sessionId, trace, externalUser } = callerFacts(api, parsed as NamingBody, call.sessionId);
  return {
    requestId: client?.requestId,
    userAgent: client?.userAgent,
    origin: client?.origin,
    httpReferer: client?.httpReferer,
    appTitle: client?.appTitle,
    sessionId,
    trace,
    externalUser,
    mediaParts: aim.request.mediaParts || undefined,
    audioParts: aim.request.audioParts || undefined,
    attempts: attempts.map(({ model, providerSlug, status, tookMs, isByok }) => ({
      model,
      provider: providerSlug,
      status,
      latencyMs: Math.round(tookMs),
      isByok: isByok || undefined,
    })),
  };
}

/** Returns the details for the record of a call that was answered. */
export function answerDetails(recorded: RecordedCall, server: Server, ended: Ended): GenerationDetails {
  const { endpoint, credential } = server;
  const { upstreamCost, cacheDiscount, toolCosts, cacheWrite1hTokens } = ended.cost;
  const { fetches, asked, turns, search } = workOfTools(server);
  return {
    ...callDetails(recorded, server.attempts),
    nativeFinishReason: storedText(ended.nativeFinishReason),
    serviceTier: soldTierOf(endpoint),
    isByok: credential ? true : undefined,
    upstreamCostUsd: upstreamCost === undefined ? undefined : formatUsd(upstreamCost),
    cacheDiscountUsd: cacheDiscount === undefined ? undefined : formatUsd(cacheDiscount),
    cacheWriteTokens: ended.usage.cacheWriteTokens || undefined,
    cacheWrite1hTokens,
    providerToolsUsd: toolCosts && formatUsd(totalToolCost(toolCosts)),
    providerTools: toolCosts && toolCostTexts(toolCosts),
    gatewayToolsUsd: credential ? undefined : gatewayToolsOf(ended.cost),
    fetches,
    asked,
    turns,
    search,
  };
}

/** The total charge includes the gateway's own tools; the two parts of the list price do not. */
function gatewayToolsOf({ totalCost, promptCost, completionCost }: Cost): string | undefined {
  const tools = totalCost - promptCost - completionCost;
  return tools > 0n ? formatUsd(tools) : undefined;
}

/** Returns what the gateway's tools did. */
function workOfTools({
  stages,
  asked,
  turns,
  search,
}: Server): Pick<GenerationDetails, 'fetches' | 'asked' | 'turns' | 'search'> {
  const uses = stages?.().find(({ type }) => type === 'server_tools')?.data?.['uses'];
  const fetches = (uses as Readonly<Record<string, number>> | undefined)?.['web_fetch'];
  return { fetches, asked: asked?.(), turns: turns?.(), search: search?.() };
}
