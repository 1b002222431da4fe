import { isObject, numberOf } from '../json/loose-values';
import type { Endpoint } from '../catalogue/catalogue';
import type { EndpointNeed } from '../routing/route-request';
import type { Transcription } from './transcription';

/** What an endpoint makes of recordings: `capabilities.transcription` of the catalogue. */
export interface TranscriptionTraits {
  readonly diarize: boolean;
  readonly keyterms: boolean;
  readonly verboseJson: boolean;
  /** The longest recording that it takes; what is held for one whose length is not known. */
  readonly maxSeconds: number;
}

const USUAL_MAX_SECONDS = 7_200;

const known = new WeakMap<Endpoint, TranscriptionTraits>();

export function transcriptionTraitsOf(endpoint: Endpoint): TranscriptionTraits {
  let traits = known.get(endpoint);
  if (traits === undefined) known.set(endpoint, (traits = readTraits(endpoint)));
  return traits;
}

function readTraits({ capabilities }: Endpoint): TranscriptionTraits {
  const own = Object.hasOwn(capabilities, 'transcription') ? capabilities['transcription'] : null;
  const traits = isObject(own) ? own : {};
  const maxSeconds = numberOf(traits['max_seconds']);
  return {
    diarize: traits['diarize'] === true,
    keyterms: traits['keyterms'] === true,
    verboseJson: traits['verbose_json'] === true,
    maxSeconds: maxSeconds !== undefined && maxSeconds > 0 ? maxSeconds : USUAL_MAX_SECONDS,
  };
}

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
