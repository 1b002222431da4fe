import type { Api } from '../catalogue/catalogue';
import { anthropicMessagesTranslation } from './anthropic-messages';
import { openAiChatTranslation } from './openai-chat';
import { openAiResponsesTranslation } from './openai-responses';
import type { Translation } from './translation';

export type Translations = ReadonlyMap<Api, Translation>;

/**
 * All dialects with a translation, the one that loses least first: endpoints with several APIs are asked in this order.
 */
export const TRANSLATIONS: Translations = new Map<Api, Translation>([
  ['chat', openAiChatTranslation],
  ['responses', openAiResponsesTranslation],
  ['messages', anthropicMessagesTranslation],
]);

/** API by which an endpoint is asked: one that callers use too, or one that only its provider's protocol has. */
export type UpstreamApi = Api | 'conversation';

/** The ways in which the engine asks an endpoint. */
export type AskableApi = Exclude<UpstreamApi, 'transcription' | 'video'>;

/** The APIs through which the engine is called. */
export type CallableApi = Exclude<AskableApi, 'conversation'>;

/** The APIs whose answers can be streamed. All of them can be translated. */
export type StreamableApi = Exclude<CallableApi, 'embeddings'>;
