import type { Transcription } from '../audio/transcription';
import { transcriptionTraitsOf } from '../audio/transcription-traits';
import type { EndpointNeed } from './route-request';

/** What a request asks of endpoints beyond plain text. */
export function transcriptionNeeds({ diarize, keyterms, isVerbose }: Transcription): readonly EndpointNeed[] {
  return [
    ...(diarize ? [DIARIZE] : []),
    ...(keyterms.length > 0 ? [KEYTERMS] : []),
    ...(isVerbose ? [VERBOSE_JSON] : []),
  ];
}

const DIARIZE: EndpointNeed = {
  member: 'diarize',
  message: 'No provider of the model can tell speakers apart (diarize)',
  isMetBy: (endpoint) => transcriptionTraitsOf(endpoint).diarize,
};
const KEYTERMS: EndpointNeed = {
  member: 'keyterms',
  message: 'No provider of the model takes keyterms',
  isMetBy: (endpoint) => transcriptionTraitsOf(endpoint).keyterms,
};
const VERBOSE_JSON: EndpointNeed = {
  member: 'response_format',
  message: 'No provider of the model gives verbose_json',
  isMetBy: (endpoint) => transcriptionTraitsOf(endpoint).verboseJson,
};
