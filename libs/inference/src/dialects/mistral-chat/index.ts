import { openAiChatTranslation } from '../openai-chat';
import type { UpstreamTranslation } from '../translation';
import { readAnswer } from './answer-reader';
import { writeRequest } from './request-writer';
import { MistralStreamReader } from './stream-reader';

/**
 * Translation for Mistral's chat API, for upstreams only: no caller uses this API. It differs from OpenAI's in the
 * names of some fields, and its content may be a list of thoughts and texts. All else is done by the translation of
 * OpenAI's API.
 */
export const mistralChatTranslation: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: (endpoint) => new MistralStreamReader(openAiChatTranslation.upstream.readStream(endpoint)),
};
