import type { Translation } from '../translation';
import { readAnswer } from './answer-reader';
import { readRequest } from './request-reader';
import { ChatStreamReader } from './stream-reader';
import { ChatStreamWriter } from './stream-writer';
import { writeAnswer } from './answer-writer';
import { writeRequest } from './request-writer';

export { openAiChat } from './dialect';

/** Translation between OpenAI's Chat Completions API and the canonical model, for callers and for upstreams. */
export const openAiChatTranslation: Translation = {
  caller: {
    readRequest,
    writeAnswer,
    writeStream: (context, request) => new ChatStreamWriter(context, request),
  },
  upstream: {
    writeRequest,
    readAnswer,
    readStream: ({ provider }) => new ChatStreamReader(provider),
  },
};
