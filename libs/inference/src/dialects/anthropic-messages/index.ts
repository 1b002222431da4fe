import type { Translation } from '../translation';
import { readAnswer } from './answer-reader';
import { writeAnswer } from './answer-writer';
import { readRequest } from './request-reader';
import { writeRequest } from './request-writer';
import { MessagesStreamReader } from './stream-reader';
import { MessagesStreamWriter } from './stream-writer';

export { anthropicMessages } from './dialect';
export { withPlacedMark } from './cache-mark';
export { readTokenCount, toTokenCount } from './count-tokens';
export { messageErrorBody, type MessageErrorBody } from './error';

/** Translation between Anthropic's Messages API and the canonical model, for callers and for upstreams. */
export const anthropicMessagesTranslation: Translation = {
  caller: {
    readRequest,
    writeAnswer,
    writeStream: (context) => new MessagesStreamWriter(context),
  },
  upstream: {
    writeRequest,
    readAnswer,
    readStream: (endpoint) => new MessagesStreamReader(endpoint),
  },
};
