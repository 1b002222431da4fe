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

/** The definitions of all APIs that have JSON bodies with text, by name. */
export const APIS: Definitions = {
  chat: chatApi,
  responses: responsesApi,
  messages: messagesApi,
  embeddings: embeddingsApi,
};

/** All APIs of callers, by name, with the properties that every API has. */
export const CALLER_APIS: Readonly<Record<Api, CallerApi>> = {
  ...APIS,
  transcription: transcriptionApi,
  video: videosApi,
};

/** Returns whether an API has JSON bodies with text. Transcriptions and videos do not. */
export function isCallable(api: Api): api is CallableApi {
  return Object.hasOwn(APIS, api);
}

/** Returns the definition of an API; null for transcriptions and videos, which have none. */
export function definitionOf(api: Api): ApiDefinition | null {
  return isCallable(api) ? APIS[api] : null;
}

/** Calls `make` for each API whose answers can be streamed, and returns the results by API. */
export function forEachConversationApi<T>(make: (api: ConversationApi) => T): Record<StreamableApi, T> {
  return { chat: make(chatApi), responses: make(responsesApi), messages: make(messagesApi) };
}

/** Returns whether answers of an API are text and can be streamed. */
export function isConversationApi(api: Api): api is StreamableApi {
  return definitionOf(api)?.generates === true;
}
