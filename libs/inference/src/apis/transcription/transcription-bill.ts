import { tokensOfBytes } from '../../model/estimate';
import { emptyUsage, type Usage } from '../../pricing/usage';
import { byokCost, type Share } from '../../pricing/byok-fee';
import { priceUsage, type Cost, type PriceList } from '../../pricing/price';
import type { Endpoint } from '../../catalogue/catalogue';
import { paidOptions } from '../../audio/speech-options';
import { MOST_WRITTEN_BYTES_PER_SECOND, mostTokens } from '../../audio/speech-tokens';
import type { TranscriptionResult, TranscriptTokens } from '../../audio/transcript';
import type { Transcription } from '../../audio/transcription';
import { transcriptionTraitsOf } from '../../audio/transcription-traits';

export interface TranscriptionBill {
  readonly usage: Usage;
  readonly cost: Cost;
  /** Number of seconds of sound that were counted; null if the recording's length is unknown. */
  readonly seconds: number | null;
}

/** A reported length of more than this many times the longest recording that the endpoint accepts is ignored. */
const MOST_TIMES_LONGEST = 4;
const MOST_TOKENS = 1_000_000_000;

/** Tokens to charge for a second of sound if an upstream that charges by the token reports none. */
const TOKENS_PER_SECOND = 17;

/** A request and the endpoint that serves it. */
export interface ServedTranscription {
  readonly transcription: Transcription;
  readonly endpoint: Endpoint;
  /** Share of the list price to charge; set if a key of the caller's own is used. */
  readonly byokFee?: Share | undefined;
}

/**
 * Returns the price of a transcription. Uses the seconds and tokens that the upstream reports; otherwise the measured
 * seconds and an estimate of tokens. Measured seconds are at least the time that it takes to speak the text, because a
 * file's header may be forged.
 */
export function billTranscription(
  { seconds, tokens, transcript }: TranscriptionResult,
  served: ServedTranscription,
): TranscriptionBill {
  const { pricing } = served.endpoint;
  const textBytes = Buffer.byteLength(transcript.text);
  const measured = served.transcription.audio.length();
  const longest = Math.max(measured?.seconds ?? 0, transcriptionTraitsOf(served.endpoint).maxSeconds);
  const reported = believable(seconds, longest * MOST_TIMES_LONGEST);
  const spoken = textBytes / MOST_WRITTEN_BYTES_PER_SECOND;
  const counted = reported ?? (measured === null ? null : Math.max(measured.seconds, spoken));
  const isGuessed = isSoldByToken(pricing) && !isCounted(tokens);
  const usage = isGuessed ? guessUsage(counted ?? 0, textBytes) : usageOf(tokens, reported);
  return { usage, cost: costOf(usage, counted, served), seconds: counted };
}

/**
 * Returns the most that a transcription may cost. This amount is reserved, and it is charged if the caller disconnects
 * before the provider reports anything. A recording of unknown length counts as the longest that the endpoint accepts.
 * @param outputCap output token cap that is sent to the provider; null if it accepts none
 */
export function mostExpensiveTranscription(served: ServedTranscription, outputCap: number | null): TranscriptionBill {
  const { transcription, endpoint } = served;
  const length = transcription.audio.length();
  const { maxSeconds } = transcriptionTraitsOf(endpoint);
  const seconds = length === null ? maxSeconds : Math.min(length.longest, Math.max(length.seconds, maxSeconds));
  const usage = emptyUsage('estimated');
  if (hasTokenPrices(endpoint.pricing)) {
    const most = mostTokens(transcription, endpoint, { seconds, outputCap });
    // A provider refuses a prompt that exceeds the context and charges nothing for it, so no more tokens can be
    // charged.
    usage.promptTokens = Math.min(most.audio + most.text, endpoint.contextLength ?? MOST_TOKENS);
    usage.audioPromptTokens = Math.min(most.audio, usage.promptTokens);
    usage.completionTokens = Math.min(most.output, MOST_TOKENS);
    usage.totalTokens = usage.promptTokens + usage.completionTokens;
  }
  return { usage, cost: costOf(usage, seconds, served), seconds };
}

function costOf(usage: Usage, seconds: number | null, { transcription, endpoint, byokFee }: ServedTranscription): Cost {
  const charged = Math.max(seconds ?? 0, transcriptionTraitsOf(endpoint).minSeconds);
  const audio = { audioMs: Math.round(charged * 1_000), audioOptions: paidOptions(transcription, endpoint) };
  const listed = priceUsage(endpoint.pricing, usage, audio);
  return byokFee === undefined ? listed : byokCost(listed, byokFee);
}

function believable(seconds: number | null, most: number): number | null {
  return seconds !== null && seconds >= 0 && seconds <= most ? seconds : null;
}

/** Returns whether a provider has reported tokens that can be true. */
function isCounted(tokens: TranscriptTokens | null): boolean {
  return tokens !== null && tokens.input >= 0 && tokens.output >= 0;
}

function isSoldByToken({ audioSecond, request }: PriceList): boolean {
  return audioSecond === undefined && request === undefined;
}

function hasTokenPrices({ prompt, completion, audio = 0n }: PriceList): boolean {
  return prompt > 0n || completion > 0n || audio > 0n;
}

function guessUsage(seconds: number, textBytes: number): Usage {
  const audio = Math.ceil(seconds * TOKENS_PER_SECOND);
  const tokens = { input: audio, audioInput: audio, output: tokensOfBytes(textBytes) };
  return { ...usageOf(tokens, null), provenance: 'estimated' };
}

function usageOf(tokens: TranscriptTokens | null, reportedSeconds: number | null): Usage {
  const usage = emptyUsage(tokens === null && reportedSeconds === null ? 'estimated' : 'upstream');
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
