import type { Translation } from '../translation';
import { readChatAnswer } from './read-answer';
import { readChatRequest } from './read-request';
import { ChatStreamReader } from './stream-reader';
import { ChatStreamWriter } from './stream-writer';
import { writeChatAnswer } from './write-answer';
import { writeChatRequest } from './write-request';

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
