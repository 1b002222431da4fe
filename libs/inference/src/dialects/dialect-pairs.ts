import type { ProviderAdapter } from '../providers/provider';
import type { Api, Endpoint } from '../catalogue/catalogue';
import { anthropicMessagesTranslation } from './anthropic-messages';
import { openAiChatTranslation } from './openai-chat/translation';
import { openAiResponsesTranslation } from './openai-responses/translation';
import type { CallerTranslation, Translation } from './translation';

export type Translations = ReadonlyMap<Api, Translation>;

/** Every dialect that can be translated, the one that can carry most first: an upstream is asked in that order. */
export const TRANSLATIONS: Translations = new Map<Api, Translation>([
  ['chat', openAiChatTranslation],
  ['responses', openAiResponsesTranslation],
  ['messages', anthropicMessagesTranslation],
]);

/** How an endpoint is asked: in one of the callers' APIs, or in the dialect that its protocol alone speaks. */
export type UpstreamApi = Api | 'conversation';

/** What an adapter must be able to do for an API, whole and streamed. */
export const ADAPTER_METHODS = {
  chat: { whole: 'chat', stream: 'chatStream' },
  responses: { whole: 'responses', stream: 'responsesStream' },
  messages: { whole: 'messages', stream: 'messagesStream' },
  embeddings: { whole: 'embed', stream: null },
  conversation: { whole: 'converse', stream: 'converseStream' },
} as const satisfies Partial<
  Record<UpstreamApi, { whole: keyof ProviderAdapter; stream: keyof ProviderAdapter | null }>
>;

/** The ways in which the engine asks an endpoint. */
export type AskableApi = keyof typeof ADAPTER_METHODS;

/** The APIs through which the engine is called. */
export type CallableApi = Exclude<AskableApi, 'conversation'>;

/** The APIs whose answers can be streamed. All of them can be translated. */
export type StreamableApi = Exclude<CallableApi, 'embeddings'>;

/** How callers of an API are understood and answered, for whoever answers in place of an upstream. */
export function callerSideOf(api: StreamableApi): CallerTranslation {
  return TRANSLATIONS.get(api)!.caller;
}

/**
 * The API in which an endpoint is asked for a caller of `callerApi`: the same one where the endpoint has it
 * (the bytes pass), else one that both sides can be translated to, else null. Whether there is an adapter at
 * all is checked where there is one to check.
 */
export function upstreamApiFor(
  callerApi: Api,
  endpoint: Endpoint,
  adapter: ProviderAdapter | undefined,
  translations: Translations = TRANSLATIONS,
): UpstreamApi | null {
  if (isSpoken(callerApi, endpoint, adapter)) return callerApi;
  if (!translations.has(callerApi)) return null;
  if (adapter?.conversation && endpoint.apis.includes('chat')) return 'conversation';
  for (const api of translations.keys()) if (api !== callerApi && isSpoken(api, endpoint, adapter)) return api;
  return null;
}

function isSpoken(api: Api, { apis }: Endpoint, adapter: ProviderAdapter | undefined): boolean {
  if (!apis.includes(api)) return false;
  if (api === 'transcription') return adapter === undefined || adapter.speech !== undefined;
  if (adapter === undefined || !Object.hasOwn(ADAPTER_METHODS, api)) return true;
  return adapter[ADAPTER_METHODS[api as CallableApi].whole] !== undefined;
}
