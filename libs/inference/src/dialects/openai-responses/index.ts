import type { CallerTranslation, UpstreamTranslation } from '../translation';
import { readAnswer } from './answer-reader';
import { readRequest } from './request-reader';
import { ResponsesStreamReader } from './stream-reader';
import { ResponsesStreamWriter } from './stream-writer';
import { writeAnswer } from './answer-writer';
import { writeRequest } from './request-writer';

/** The responses API on the callers' side of a translation (interface §2.11, §4.4). */
const caller: CallerTranslation = {
  readRequest,
  writeAnswer,
  writeStream: (context) => new ResponsesStreamWriter(context),
};

/** The responses API on the upstreams' side of a translation. */
const upstream: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: (endpoint) => new ResponsesStreamReader(endpoint),
};

export const openAiResponsesTranslation = { caller, upstream };
