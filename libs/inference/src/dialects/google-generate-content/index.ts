import type { UpstreamTranslation } from '../translation';
import { readAnswer } from './answer-reader';
import { writeRequest } from './request-writer';
import { GenerateContentStreamReader } from './stream-reader';

export { writeAudio, writeMedia, type WirePart } from './media';

/** `generateContent`, as the Gemini API and Vertex AI both have it: asked of upstreams, never by callers. */
export const googleGenerateContent: UpstreamTranslation = {
  writeRequest,
  readAnswer,
  readStream: (endpoint) => new GenerateContentStreamReader(endpoint),
};
