import type { UpstreamTranslation } from '../translation';
import { readAnswer } from './answer-reader';
import { writeRequest } from './request-writer';
import { CohereStreamReader } from './stream-reader';

/** Cohere's chat, version 2: a dialect of upstreams only. */
export const cohereChatTranslation: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: ({ provider }) => new CohereStreamReader(provider),
};
