import type { CallerTranslation, UpstreamTranslation } from '../translation';
import { readAnswer } from './read-answer';
import { readRequest } from './read-request';
import { ResponsesStreamReader } from './stream-reader';
import { ResponsesStreamWriter } from './stream-writer';
import { writeAnswer } from './write-answer';
import { writeRequest } from './write-request';

/** The responses API on the callers' side of a translation (interface §2.11, §4.4). */
const caller: CallerTranslation = {
  readRequest,
  writeAnswer,
  writeStream: (context, request) => new ResponsesStreamWriter(context, request),
};

/** The responses API on the upstreams' side of a translation. */
const upstream: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: (endpoint) => new ResponsesStreamReader(endpoint),
};

export const openAiResponsesTranslation = { caller, upstream };
