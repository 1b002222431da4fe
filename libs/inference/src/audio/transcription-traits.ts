import { isObject, numberOf } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue';

/** How an endpoint handles recordings: `capabilities.transcription` of the catalogue. */
export interface TranscriptionTraits {
  readonly diarize: boolean;
  readonly keyterms: boolean;
  readonly verboseJson: boolean;
  /**
   * The longest recording that the endpoint accepts, in seconds; also the length that is reserved for a recording of
   * unknown length.
   */
  readonly maxSeconds: number;
  /** The fewest seconds that the provider charges for. */
  readonly minSeconds: number;
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
  const minSeconds = numberOf(traits['min_seconds']);
  return {
    diarize: traits['diarize'] === true,
    keyterms: traits['keyterms'] === true,
    verboseJson: traits['verbose_json'] === true,
    maxSeconds: maxSeconds !== undefined && maxSeconds > 0 ? maxSeconds : USUAL_MAX_SECONDS,
    minSeconds: minSeconds !== undefined && minSeconds > 0 ? minSeconds : 0,
  };
}
