import type { TranscriptionDto } from '@libs/contracts';
import type { AudioInput } from '@libs/inference';

/** A checked request with its recording. */
export interface IncomingTranscription {
  readonly dto: TranscriptionDto;
  readonly audio: AudioInput;
  /**
   * Where the recording still arrives (`audio.arriving`), the request as it is when all of it is there: the same,
   * or with a recording that was annulled another one. Rejects with why it is refused. Null where all of it is here.
   */
  readonly rest: Promise<IncomingTranscription> | null;
}
