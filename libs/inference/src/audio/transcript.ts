/** What was said, as far as an upstream reports it. Times are seconds from the start. */
export interface Transcript {
  readonly text: string;
  readonly language?: string | undefined;
  readonly durationSeconds?: number | undefined;
  readonly words?: readonly TranscriptWord[] | undefined;
  /** Absent where an upstream has none; then they are made of the words. */
  readonly segments?: readonly TranscriptSegment[] | undefined;
  /** Of the whole, from 0 to 1. */
  readonly confidence?: number | undefined;
  readonly languageConfidence?: number | undefined;
  readonly entities?: readonly TranscriptEntity[] | undefined;
}

export interface TranscriptWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** As the upstream calls the speaker. */
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
  /** Further fields that recognisers of one family report for a segment. */
  readonly details?: Readonly<Record<string, number | readonly number[]>> | undefined;
}

export interface TranscriptEntity {
  readonly text: string;
  readonly type: string;
  /** Offsets into the text of the whole; the end is exclusive. */
  readonly startChar: number;
  readonly endChar: number;
}

/** Tokens as a token-priced upstream counts them. */
export interface TranscriptTokens {
  readonly input: number;
  /** Among the input. */
  readonly audioInput: number;
  readonly output: number;
}

/** An upstream's answer to a transcription. What it did not count is null. */
export interface TranscriptionResult {
  readonly transcript: Transcript;
  readonly seconds: number | null;
  readonly tokens: TranscriptTokens | null;
  readonly upstreamId: string | null;
}
