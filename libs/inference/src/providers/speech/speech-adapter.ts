import type { Transcription } from '../../audio/transcription';
import type { Endpoint } from '../../catalogue/catalogue';
import type { TranscriptionResult } from '../../audio/transcript';
import type { UpstreamCallHead } from '../../wire/upstream-call';

/** One transcription at one endpoint. `timeouts.totalMs` is for all of its exchanges together. */
export interface TranscriptionCall extends UpstreamCallHead {
  readonly transcription: Transcription;
}

/** Speech to text in the words of one protocol; held to what `ProviderAdapter` promises. */
export interface SpeechAdapter {
  /** Whether the upstream downloads a recording by its URL; others are sent the bytes. */
  readonly takesUrls: boolean;
  /**
   * Returns the cap on the tokens of the answer, thoughts included, with which a recording is sent: the same whenever it
   * is asked for during a call. Absent where the upstream takes none.
   */
  outputCap?(transcription: Transcription, endpoint: Endpoint): number;
  transcribe(call: TranscriptionCall): Promise<TranscriptionResult>;
}
