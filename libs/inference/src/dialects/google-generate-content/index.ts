import type { UpstreamTranslation } from '../translation';
import { readAnswer } from './answer-reader';
import { writeRequest } from './request-writer';
import { GenerateContentStreamReader } from './stream-reader';

export { writeAudio, writeMedia, type WirePart } from './media';

/** Dialect of `generateContent`, of the Gemini API and Vertex AI. For upstreams only: no caller uses this API. */
export const googleGenerateContent: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: (endpoint) => new GenerateContentStreamReader(endpoint),
};
