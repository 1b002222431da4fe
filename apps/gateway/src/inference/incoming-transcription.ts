import type { TranscriptionDto } from '@libs/contracts';
import type { AudioInput } from '@libs/inference';

/** A checked request with its recording. */
export interface IncomingTranscription {
  readonly dto: TranscriptionDto;
  readonly audio: AudioInput;
  /**
   * Set while the recording is still arriving (`audio.arriving`): the final request when it has arrived completely.
   * That is the same request, or a different one if the recording was annulled. Rejects if the request is refused. Null
   * if everything has arrived.
   */
  readonly rest: Promise<IncomingTranscription> | null;
}
