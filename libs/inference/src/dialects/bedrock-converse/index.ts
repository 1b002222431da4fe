import type { UpstreamTranslation } from '../translation';
import { readAnswer } from './answer-reader';
import { writeRequest } from './request-writer';
import { ConverseStreamReader } from './stream-reader';

/** Amazon Bedrock's Converse, which no caller speaks. */
export const bedrockConverse: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: (endpoint) => new ConverseStreamReader(endpoint),
};
