import { AudioBytes } from '../audio/audio-bytes';
import { audioInHand, type Transcription } from '../audio/transcription';

/** A recording of two and a half seconds, whose transcription nothing special is asked of. */
export function aTranscription(values: Partial<Transcription> = {}, seconds = 2.5): Transcription {
  return {
    audio: audioInHand('wav', new AudioBytes([Buffer.alloc(64)]), { seconds, longest: seconds }),
    secondsWhenAsked: seconds,
    language: null,
    temperature: null,
    isVerbose: false,
    granularities: ['segment'],
    keyterms: [],
    diarize: false,
    options: {},
    ...values,
  };
}
