import type { Api } from '../catalogue/catalogue';
import { anthropicMessagesTranslation } from './anthropic-messages';
import { openAiChatTranslation } from './openai-chat/translation';
import { openAiResponsesTranslation } from './openai-responses/translation';
import type { Translation } from './translation';

export type Translations = ReadonlyMap<Api, Translation>;

/** Every dialect that can be translated, the one that can carry most first: an upstream is asked in that order. */
export const TRANSLATIONS: Translations = new Map<Api, Translation>([
  ['chat', openAiChatTranslation],
  ['responses', openAiResponsesTranslation],
  ['messages', anthropicMessagesTranslation],
]);

/** How an endpoint is asked: in one of the callers' APIs, or in the dialect that its protocol alone speaks. */
export type UpstreamApi = Api | 'conversation';

/** The ways in which the engine asks an endpoint. */
export type AskableApi = Exclude<UpstreamApi, 'transcription' | 'video'>;

/** The APIs through which the engine is called. */
export type CallableApi = Exclude<AskableApi, 'conversation'>;

/** The APIs whose answers can be streamed. All of them can be translated. */
export type StreamableApi = Exclude<CallableApi, 'embeddings'>;
