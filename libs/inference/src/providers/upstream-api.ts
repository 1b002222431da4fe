import type { Api, Endpoint } from '../catalogue/catalogue';
import { TRANSLATIONS, type AskableApi, type Translations, type UpstreamApi } from '../dialects/dialect-pairs';
import type { ProviderAdapter } from './provider';

/** The methods that an adapter needs for an API, whole and streamed. */
export const ADAPTER_METHODS = {
  chat: { whole: 'chat', stream: 'chatStream' },
  responses: { whole: 'responses', stream: 'responsesStream' },
  messages: { whole: 'messages', stream: 'messagesStream' },
  embeddings: { whole: 'embed', stream: null },
  conversation: { whole: 'converse', stream: 'converseStream' },
  transcription: { whole: 'speech', stream: null },
} as const satisfies Record<
  AskableApi | 'transcription',
  { whole: keyof ProviderAdapter; stream: keyof ProviderAdapter | null }
>;

/**
 * Returns the API in which an endpoint is asked for a caller of `callerApi`: the same one if the endpoint has it (the
 * bytes pass through), else one that both sides can be translated to, else null. Whether the adapter has the needed
 * methods is checked only if an adapter is given.
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
  if (adapter === undefined || !Object.hasOwn(ADAPTER_METHODS, api)) return true;
  return adapter[ADAPTER_METHODS[api as keyof typeof ADAPTER_METHODS].whole] !== undefined;
}
