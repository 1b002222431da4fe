import type { ArrivingAudio } from './arriving-audio';
import type { AudioBytes } from './audio-bytes';
import type { AudioLength } from '../media/audio-duration';
import type { AudioFormat } from '../media/audio-format';

export type TimestampGranularity = 'word' | 'segment';

/** A recording and where its bytes are. */
export interface AudioInput {
  readonly format: AudioFormat;
  /** Where a provider could download it itself; null where there are only bytes. */
  readonly url: string | null;
  /** Its bytes, fetched at most once where they are not here yet. @throws AppError that must not be retried */
  readonly bytes: () => Promise<AudioBytes>;
  /** Its bytes, where they are sent while they still arrive; null where they are sent when all of them are here. */
  readonly arriving: ArrivingAudio | null;
  /** Null until the bytes are here. */
  readonly length: () => MeasuredAudio | null;
}

export type MeasuredAudio = Pick<AudioLength, 'seconds' | 'longest'>;

/** A request for a transcription, independent of any provider's dialect. */
export interface Transcription {
  readonly audio: AudioInput;
  /** Of `audio`, as `secondsWhenAsked` returned it before the call: what providers are sent is bounded by it. */
  readonly secondsWhenAsked: number | null;
  readonly language: string | null;
  readonly temperature: number | null;
  readonly isVerbose: boolean;
  /** What of a verbose answer has its time; never empty. */
  readonly granularities: readonly TimestampGranularity[];
  readonly keyterms: readonly string[];
  readonly diarize: boolean;
  /** By provider slug: members for the provider that serves. */
  readonly options: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A recording whose bytes are here. */
export function audioInHand(format: AudioFormat, audio: AudioBytes, length: MeasuredAudio): AudioInput {
  return { format, url: null, bytes: () => Promise.resolve(audio), arriving: null, length: () => length };
}

/** Whether each word needs its own times, be it only to assign words to speakers. */
export function wantsWords({ isVerbose, granularities, diarize }: Transcription): boolean {
  return isVerbose && (diarize || granularities.includes('word'));
}

export function wantsSegments({ isVerbose, granularities }: Transcription): boolean {
  return isVerbose && granularities.includes('segment');
}
