/** The text of a recording as far as an upstream reports it. Times are seconds from the start. */
export interface Transcript {
  readonly text: string;
  readonly language?: string | undefined;
  readonly durationSeconds?: number | undefined;
  readonly words?: readonly TranscriptWord[] | undefined;
  /** Absent if the upstream reports none; segments are then made from the words. */
  readonly segments?: readonly TranscriptSegment[] | undefined;
  /** Confidence of the whole transcript, from 0 to 1. */
  readonly confidence?: number | undefined;
  readonly languageConfidence?: number | undefined;
  readonly entities?: readonly TranscriptEntity[] | undefined;
}

export interface TranscriptWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** The upstream's name for the speaker. */
  readonly speaker?: string | undefined;
  readonly confidence?: number | undefined;
  readonly channel?: number | undefined;
  readonly type?: 'word' | 'audio_event' | undefined;
}

export interface TranscriptSegment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly speaker?: string | undefined;
  /** Further fields that recognizers of one family report for a segment. */
  readonly details?: Readonly<Record<string, number | readonly number[]>> | undefined;
}

export interface TranscriptEntity {
  readonly text: string;
  readonly type: string;
  /** Offsets into the text of the whole transcript; the end is exclusive. */
  readonly startChar: number;
  readonly endChar: number;
}

/** Tokens as a token-priced upstream counts them. */
export interface TranscriptTokens {
  readonly input: number;
  /** The part of the input tokens that is audio. */
  readonly audioInput: number;
  readonly output: number;
}

/** An upstream's answer to a transcription. Counts that it did not report are null. */
export interface TranscriptionResult {
  readonly transcript: Transcript;
  readonly seconds: number | null;
  readonly tokens: TranscriptTokens | null;
  readonly upstreamId: string | null;
}
