import { tokensOfBytes } from '../model/estimate';
import { emptyUsage, type Usage } from '../pricing/usage';
import { byokCost, type Share } from '../pricing/byok-fee';
import type { PicoUsd } from '../pricing/money';
import { priceUsage, type Cost, type PriceList } from '../pricing/price';
import type { Endpoint } from '../catalogue/catalogue';
import type { AudioLength } from '../media/audio-duration';
import type { TranscriptionResult, TranscriptTokens } from './transcript';

export interface TranscriptionBill {
  readonly usage: Usage;
  readonly cost: Cost;
  /** What was counted by; null where nothing says how long the recording is. */
  readonly seconds: number | null;
}

const MOST_SECONDS = 1_000_000;
const MOST_TOKENS = 1_000_000_000;

/** Of a second of sound, where an upstream that sells by the token counts none. */
const TOKENS_PER_SECOND = 17;

/** Most bytes of text in a second of speech. */
const MOST_WRITTEN_BYTES_PER_SECOND = 50;

/**
 * Returns what a transcription costs. Takes seconds and tokens from the upstream, else the measured seconds and an
 * estimate of tokens. Measured seconds are at least what it takes to speak the text, as a file's header may be forged.
 */
export function billTranscription(
  { seconds, tokens, transcript }: TranscriptionResult,
  measured: AudioLength | null,
  endpoint: Endpoint,
  byokFee?: Share,
): TranscriptionBill {
  return bill({ seconds, tokens, textBytes: Buffer.byteLength(transcript.text) }, measured, endpoint, byokFee);
}

interface Counted extends Pick<TranscriptionResult, 'seconds' | 'tokens'> {
  readonly textBytes: number;
}

function bill(
  { seconds, tokens, textBytes }: Counted,
  measured: AudioLength | null,
  { pricing }: Endpoint,
  byokFee?: Share,
): TranscriptionBill {
  const reported = believable(seconds);
  const spoken = textBytes / MOST_WRITTEN_BYTES_PER_SECOND;
  const counted = reported ?? (measured === null ? null : Math.max(measured.seconds, spoken));
  const usage =
    tokens === null && isSoldByToken(pricing) ? guessUsage(counted ?? 0, textBytes) : usageOf(tokens, reported);
  const listed = priceUsage(pricing, usage, { audioMs: counted === null ? 0 : Math.round(counted * 1_000) });
  return { usage, cost: byokFee === undefined ? listed : byokCost(listed, byokFee), seconds: counted };
}

/** Of a second of fast speech, written down. */
const WRITTEN_BYTES_PER_SECOND = 25;

/** What a recording of so many seconds is expected to cost at most. */
export function expectedTranscriptionCost(endpoint: Endpoint, seconds: number): PicoUsd {
  return expectedTranscription(endpoint, seconds).cost.totalCost;
}

/** Returns what `expectedTranscriptionCost` adds up, as a bill. */
export function expectedTranscription(endpoint: Endpoint, seconds: number, byokFee?: Share): TranscriptionBill {
  const length = { seconds, isEstimated: false };
  const textBytes = Math.ceil(seconds * WRITTEN_BYTES_PER_SECOND);
  return bill({ seconds: null, tokens: null, textBytes }, length, endpoint, byokFee);
}

function believable(seconds: number | null): number | null {
  return seconds !== null && Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, MOST_SECONDS) : null;
}

function isSoldByToken({ audioSecond, request }: PriceList): boolean {
  return audioSecond === undefined && request === undefined;
}

function guessUsage(seconds: number, textBytes: number): Usage {
  const audio = Math.ceil(seconds * TOKENS_PER_SECOND);
  const tokens = { input: audio, audioInput: audio, output: tokensOfBytes(textBytes) };
  return { ...usageOf(tokens, null), provenance: 'estimated' };
}

function usageOf(tokens: TranscriptTokens | null, told: number | null): Usage {
  const usage = emptyUsage(tokens === null && told === null ? 'estimated' : 'upstream');
  if (tokens === null) return usage;
  usage.promptTokens = count(tokens.input);
  usage.audioPromptTokens = Math.min(count(tokens.audioInput), usage.promptTokens);
  usage.completionTokens = count(tokens.output);
  usage.totalTokens = usage.promptTokens + usage.completionTokens;
  return usage;
}

function count(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.min(Math.round(value), MOST_TOKENS) : 0;
}
