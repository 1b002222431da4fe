import type { Translation } from '../translation';
import { readChatAnswer } from './answer-reader';
import { readChatRequest } from './request-reader';
import { ChatStreamReader } from './stream-reader';
import { ChatStreamWriter } from './stream-writer';
import { writeChatAnswer } from './answer-writer';
import { writeChatRequest } from './request-writer';

/** OpenAI's chat completions on both sides of a translation. */
export const openAiChatTranslation: Translation = {
  caller: {
    readRequest: readChatRequest,
    writeAnswer: writeChatAnswer,
    writeStream: (context) => new ChatStreamWriter(context),
  },
  upstream: {
    writeRequest: writeChatRequest,
    readAnswer: readChatAnswer,
    readStream: ({ provider }) => new ChatStreamReader(provider),
  },
};
