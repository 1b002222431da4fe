import type { Api } from '../catalogue/catalogue';
import { anthropicMessagesTranslation } from './anthropic-messages';
import { openAiChatTranslation } from './openai-chat';
import { openAiResponsesTranslation } from './openai-responses';
import type { Translation } from './translation';

export type Translations = ReadonlyMap<Api, Translation>;

/** Every dialect with a translation, the one that loses least first: upstreams are asked in this order. */
export const TRANSLATIONS: Translations = new Map<Api, Translation>([
  ['chat', openAiChatTranslation],
  ['responses', openAiResponsesTranslation],
  ['messages', anthropicMessagesTranslation],
]);

/** How an endpoint is asked: on one of the callers' APIs, or in the dialect that only its protocol has. */
export type UpstreamApi = Api | 'conversation';

/** The ways in which the engine asks an endpoint. */
export type AskableApi = Exclude<UpstreamApi, 'transcription' | 'video'>;

/** The APIs through which the engine is called. */
export type CallableApi = Exclude<AskableApi, 'conversation'>;

/** The APIs whose answers can be streamed. All of them can be translated. */
export type StreamableApi = Exclude<CallableApi, 'embeddings'>;
