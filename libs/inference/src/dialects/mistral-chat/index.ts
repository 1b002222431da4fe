import { openAiChatTranslation } from '../openai-chat';
import type { UpstreamTranslation } from '../translation';
import { readAnswer } from './answer-reader';
import { writeRequest } from './request-writer';
import { MistralStreamReader } from './stream-reader';

/**
 * Mistral's chat, a dialect of upstreams only: OpenAI's with members of other names, and with content that may
 * be a list of thoughts and texts. What the two have in common is done by the translation of OpenAI's.
 */
export const mistralChatTranslation: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: (endpoint) => new MistralStreamReader(openAiChatTranslation.upstream.readStream(endpoint)),
};
