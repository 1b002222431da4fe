import { estimateTextTokens, tokensOfBytes } from '../model/estimate';
import type { AudioFormat } from '../media/audio-format';
import { MEDIA_LIMITS } from '../model/media-limits';
import type { Endpoint } from '../catalogue/catalogue';
import type { AudioInput, Transcription } from './transcription';
import { sentOptions } from './speech-options';
import { transcriptionTraitsOf } from './transcription-traits';

/** Most bytes of text in a second of speech. */
export const MOST_WRITTEN_BYTES_PER_SECOND = 50;

/** Room for what a model writes about a recording with little speech. */
const LEAST_OUTPUT_TOKENS = 64;

/** Tokens of the instruction to transcribe, ours or the provider's. */
const INSTRUCTION_TOKENS = 64;

/** A longer text fits no provider; it counts a token for each byte, which takes no time to find out. */
const LONGEST_ESTIMATED = 262_144;

const BITS = 8;

/**
 * Bits per second below which speech is rarely recorded. Few people speak so fast that a recording with less of them
 * has more words than its cap has room for.
 */
const LOW_BITRATES: Readonly<Record<AudioFormat, number>> = {
  wav: 64_000,
  pcm: 256_000,
  flac: 64_000,
  mp3: 16_000,
  m4a: 16_000,
  ogg: 16_000,
  webm: 16_000,
  aac: 16_000,
};

/** The tokens for which a provider may charge. */
export interface MostTokens {
  readonly audio: number;
  /** Input tokens that are not audio. */
  readonly text: number;
  readonly output: number;
}

/** What a provider may charge for, as `mostTokens` counts it. */
export interface MostRead {
  /** Of sound. */
  readonly seconds: number;
  /** Null where the provider takes no cap. */
  readonly outputCap: number | null;
}

/**
 * Returns the most tokens for which a provider may charge, whatever it charges by. Texts count by their estimate, all
 * that the endpoint is sent; without a cap the answer is as long as fast speech, or as the longest that the endpoint
 * gives.
 */
export function mostTokens(transcription: Transcription, endpoint: Endpoint, read: MostRead): MostTokens {
  const { seconds, outputCap } = read;
  return {
    audio: Math.ceil(seconds * MEDIA_LIMITS.secondOfSound),
    text: INSTRUCTION_TOKENS + textTokens(transcription, endpoint),
    output: outputCap ?? Math.max(transcriptTokens(seconds), endpoint.maxCompletionTokens ?? 0),
  };
}

function textTokens(transcription: Transcription, endpoint: Endpoint): number {
  const options = sentOptions(transcription, endpoint);
  const { keyterms } = transcription;
  if (keyterms.length === 0 && Object.keys(options).length === 0) return 0;
  const text = JSON.stringify([keyterms, options]);
  return text.length > LONGEST_ESTIMATED ? Buffer.byteLength(text) : estimateTextTokens(text);
}

/** Returns the most tokens of the transcript of so many seconds. */
export function transcriptTokens(seconds: number): number {
  return LEAST_OUTPUT_TOKENS + tokensOfBytes(seconds * MOST_WRITTEN_BYTES_PER_SECOND);
}

/**
 * Returns how many seconds a recording may have, as far as that is known when an endpoint is asked; null where nothing
 * is known. One that still arrives is taken for one of a low bitrate.
 */
export function secondsWhenAsked(audio: AudioInput): number | null {
  if (audio.arriving !== null) return (audio.arriving.length * BITS) / LOW_BITRATES[audio.format];
  return audio.length()?.seconds ?? null;
}

/** Returns the most tokens of a transcript, the same whenever it is asked for during a call. */
export function transcriptTokensWhenAsked({ secondsWhenAsked: seconds }: Transcription, endpoint: Endpoint): number {
  return transcriptTokens(seconds ?? transcriptionTraitsOf(endpoint).maxSeconds);
}
