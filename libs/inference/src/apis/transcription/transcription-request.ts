import type { TranscriptionDto } from '@libs/contracts';
import { secondsWhenAsked } from '../../audio/speech-tokens';
import type { AudioInput, Transcription } from '../../audio/transcription';

/** Returns the transcription that a validated body and its recording ask for, with all defaults filled in. */
export function transcriptionOf(dto: TranscriptionDto, audio: AudioInput): Transcription {
  return {
    audio,
    secondsWhenAsked: secondsWhenAsked(audio),
    language: dto.language ?? null,
    temperature: dto.temperature ?? null,
    isVerbose: dto.response_format === 'verbose_json',
    granularities: dto.timestamp_granularities ?? ['segment'],
    keyterms: dto.keyterms ?? [],
    diarize: dto.diarize ?? false,
    options: dto.provider?.options ?? {},
  };
}
