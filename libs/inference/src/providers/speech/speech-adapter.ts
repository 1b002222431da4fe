import type { Transcription } from '../../audio/transcription';
import type { Endpoint } from '../../catalogue/catalogue';
import type { TranscriptionResult } from '../../audio/transcript';
import type { UpstreamCallHead } from '../../wire/upstream-call';

/** One transcription at one endpoint. `timeouts.totalMs` is the limit for all of its requests together. */
export interface TranscriptionCall extends UpstreamCallHead {
  readonly transcription: Transcription;
}

/** Transcription in one provider protocol. The same rules apply as for `ProviderAdapter`. */
export interface SpeechAdapter {
  /** True if the upstream downloads recordings by URL; otherwise the bytes are sent. */
  readonly takesUrls: boolean;
  /**
   * Returns the output token cap to send with a recording, thoughts included. It returns the same value during a whole
   * call. Absent if the upstream accepts no cap.
   */
  outputCap?(transcription: Transcription, endpoint: Endpoint): number;
  transcribe(call: TranscriptionCall): Promise<TranscriptionResult>;
}
