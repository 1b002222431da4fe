import type { Api } from '../catalogue/catalogue';
import type { CallableApi, StreamableApi } from '../dialects/dialect-pairs';
import type { ApiDefinition, ConversationApi } from './api-definition';
import type { CallerApi } from './caller-api';
import { chatApi } from './chat/chat-api';
import { embeddingsApi } from './embeddings/embeddings-api';
import { messagesApi } from './messages/messages-api';
import { responsesApi } from './responses/responses-api';
import { transcriptionApi } from './transcription/transcription-api';
import { videosApi } from './videos/videos-api';

type Definitions = Readonly<Record<StreamableApi, ConversationApi> & Record<CallableApi, ApiDefinition>>;

/** The definition of every API that has JSON bodies of text, by its name. */
export const APIS: Definitions = {
  chat: chatApi,
  responses: responsesApi,
  messages: messagesApi,
  embeddings: embeddingsApi,
};

/** What is known of every API of callers, by its name. */
export const CALLER_APIS: Readonly<Record<Api, CallerApi>> = {
  ...APIS,
  transcription: transcriptionApi,
  video: videosApi,
};

/** Returns whether an API has JSON bodies of text: not so recordings and videos. */
export function isCallable(api: Api): api is CallableApi {
  return Object.hasOwn(APIS, api);
}

/** Returns the definition of an API; null for recordings and videos. */
export function definitionOf(api: Api): ApiDefinition | null {
  return isCallable(api) ? APIS[api] : null;
}

/** Makes one thing for each API whose answers can be streamed. */
export function forEachConversationApi<T>(make: (api: ConversationApi) => T): Record<StreamableApi, T> {
  return { chat: make(chatApi), responses: make(responsesApi), messages: make(messagesApi) };
}

/** Returns whether answers of an API are text and can be streamed. */
export function isConversationApi(api: Api): api is StreamableApi {
  return definitionOf(api)?.generates === true;
}
