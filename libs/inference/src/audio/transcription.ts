import type { ArrivingAudio } from './arriving-audio';
import type { AudioBytes } from './audio-bytes';
import type { AudioLength } from '../media/audio-duration';
import type { AudioFormat } from '../media/audio-format';

export type TimestampGranularity = 'word' | 'segment';

/** A recording and where its bytes are. */
export interface AudioInput {
  readonly format: AudioFormat;
  /** URL from which a provider can download the recording; null if only its bytes were sent. */
  readonly url: string | null;
  /** The bytes of the recording; downloads them at most once. @throws AppError that must not be retried */
  readonly bytes: () => Promise<AudioBytes>;
  /** The recording, if its bytes are sent upstream while they arrive; null if they are sent after all have arrived. */
  readonly arriving: ArrivingAudio | null;
  /** The measured length; null until the bytes have arrived. */
  readonly length: () => MeasuredAudio | null;
}

export type MeasuredAudio = Pick<AudioLength, 'seconds' | 'longest'>;

/** A request for a transcription, independent of any provider's dialect. */
export interface Transcription {
  readonly audio: AudioInput;
  /**
   * Length of `audio` as `secondsWhenAsked` returned it before the call; caps that are sent to providers are computed
   * from it.
   */
  readonly secondsWhenAsked: number | null;
  readonly language: string | null;
  readonly temperature: number | null;
  readonly isVerbose: boolean;
  /** The parts of a verbose answer that have times: segments, words or both; never empty. */
  readonly granularities: readonly TimestampGranularity[];
  readonly keyterms: readonly string[];
  readonly diarize: boolean;
  /** Options by provider slug; only those of the provider that serves are used. */
  readonly options: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A recording whose bytes are here. */
export function audioInHand(format: AudioFormat, audio: AudioBytes, length: MeasuredAudio): AudioInput {
  return { format, url: null, bytes: () => Promise.resolve(audio), arriving: null, length: () => length };
}

/** True if each word needs its own times, even if only to assign words to speakers. */
export function wantsWords({ isVerbose, granularities, diarize }: Transcription): boolean {
  return isVerbose && (diarize || granularities.includes('word'));
}

export function wantsSegments({ isVerbose, granularities }: Transcription): boolean {
  return isVerbose && granularities.includes('segment');
}
