import type { UpstreamTranslation } from '../translation';
import { readAnswer } from './answer-reader';
import { writeRequest } from './request-writer';
import { CohereStreamReader } from './stream-reader';

/** Translation for version 2 of Cohere's chat API, for upstreams only: no caller uses this API. */
export const cohereChatTranslation: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: ({ provider }) => new CohereStreamReader(provider),
};
