import type { Translation } from '../translation';
import { readAnswer } from './answer-reader';
import { readRequest } from './request-reader';
import { ResponsesStreamReader } from './stream-reader';
import { ResponsesStreamWriter } from './stream-writer';
import { writeAnswer } from './answer-writer';
import { takesFreeText, writeRequest } from './request-writer';

export { openAiResponses } from './dialect';

/** Translation between OpenAI's Responses API and the canonical model, for callers and for upstreams. */
export const openAiResponsesTranslation: Translation = {
  caller: {
    readRequest,
    writeAnswer,
    writeStream: (context, request) => new ResponsesStreamWriter(context, request),
  },
  upstream: {
    writeRequest,
    takesFreeText,
    readAnswer,
    readStream: (endpoint) => new ResponsesStreamReader(endpoint),
  },
};
