import { estimateTextTokens, tokensOfBytes } from '../model/estimate';
import type { AudioFormat } from '../media/audio-format';
import { MEDIA_LIMITS } from '../model/media-limits';
import type { Endpoint } from '../catalogue/catalogue';
import type { AudioInput, Transcription } from './transcription';
import { sentOptions } from './speech-options';
import { transcriptionTraitsOf } from './transcription-traits';

/** Most bytes of text that can be spoken in a second. */
export const MOST_WRITTEN_BYTES_PER_SECOND = 50;

/** Tokens reserved for what a model writes about a recording with little speech. */
const LEAST_OUTPUT_TOKENS = 64;

/** Tokens of the instruction to transcribe, which we or the provider send. */
const INSTRUCTION_TOKENS = 64;

/**
 * Texts longer than this exceed every provider's limit. They count one token for each byte, which needs no computation.
 */
const LONGEST_ESTIMATED = 262_144;

const BITS = 8;

/**
 * Bit rates below which speech is rarely recorded. If a recording has a lower rate, its text may exceed the cap only if
 * the speaker is unusually fast.
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

/** The most tokens for which a provider may charge. */
export interface MostTokens {
  readonly audio: number;
  /** Input tokens that are not audio. */
  readonly text: number;
  readonly output: number;
}

/** The parts of a request for which a provider may charge, as input of `mostTokens`. */
export interface MostRead {
  /** Length of the sound in seconds. */
  readonly seconds: number;
  /** Output token cap; null if the provider accepts none. */
  readonly outputCap: number | null;
}

/**
 * Returns the most tokens for which a provider may charge. All texts that are sent to the endpoint count by their
 * estimate. Without a cap, the answer counts as long as fast speech, or as the longest that the endpoint produces.
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

/** Returns the most tokens of a transcript of this many seconds. */
export function transcriptTokens(seconds: number): number {
  return LEAST_OUTPUT_TOKENS + tokensOfBytes(seconds * MOST_WRITTEN_BYTES_PER_SECOND);
}

/**
 * Returns the length of a recording in seconds, as far as it is known when an endpoint is called; null if it is
 * unknown. A recording that is still arriving is assumed to have a low bit rate.
 */
export function secondsWhenAsked(audio: AudioInput): number | null {
  if (audio.arriving !== null) return (audio.arriving.length * BITS) / LOW_BITRATES[audio.format];
  return audio.length()?.seconds ?? null;
}

/** Returns the most tokens of a transcript. The result is the same at any time during a call. */
export function transcriptTokensWhenAsked({ secondsWhenAsked: seconds }: Transcription, endpoint: Endpoint): number {
  return transcriptTokens(seconds ?? transcriptionTraitsOf(endpoint).maxSeconds);
}
