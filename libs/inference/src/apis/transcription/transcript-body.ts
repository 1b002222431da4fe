import { defined } from '@libs/json';
import type { Transcript, TranscriptEntity, TranscriptSegment, TranscriptWord } from '../../audio/transcript';
import { wantsSegments, wantsWords, type Transcription } from '../../audio/transcription';
import { formatUsd } from '../../pricing/money';
import { segmentsOf } from './transcript-segments';
import type { TranscriptionBill } from './transcription-bill';

/** The usage of a transcription as its answer reports it. */
export interface TranscriptUsage {
  /** The cost as a decimal number in US dollars, in JSON text. */
  readonly cost: string;
  readonly seconds?: number | undefined;
  readonly tokens?: { readonly input: number; readonly output: number; readonly total: number } | undefined;
}

/**
 * Returns the usage that an answer reports. Tokens are included if the upstream bills by tokens or has counted some.
 */
export function transcriptUsageOf(
  { usage, cost, seconds }: TranscriptionBill,
  isCountedInTokens: boolean,
): TranscriptUsage {
  const { promptTokens, completionTokens, totalTokens } = usage;
  const tokens = { input: promptTokens, output: completionTokens, total: totalTokens };
  const isListed = isCountedInTokens || totalTokens > 0;
  return {
    cost: formatUsd(cost.totalCost),
    seconds: seconds ?? undefined,
    tokens: isListed ? tokens : undefined,
  };
}

/** The answer of `POST /audio/transcriptions`, as JSON. */
export function transcriptBody(request: Transcription, transcript: Transcript, usage: TranscriptUsage): Buffer {
  const { text, languageConfidence, entities } = transcript;
  const body = defined({
    text,
    ...(request.isVerbose && verboseMembers(request, transcript)),
    language_confidence: fraction(languageConfidence),
    entities: entities && entities.length > 0 ? entities.map(entityMember) : undefined,
  });
  const { cost, seconds, tokens } = usage;
  const used = defined({
    seconds,
    input_tokens: tokens?.input,
    output_tokens: tokens?.output,
    total_tokens: tokens?.total,
  });
  const head = JSON.stringify(body).slice(0, -1);
  const counts = JSON.stringify(used).slice(1);
  // The cost is written with all of its digits.
  return Buffer.from(`${head},"usage":{"cost":${cost}${counts === '}' ? '' : ','}${counts}}`);
}

function verboseMembers(request: Transcription, transcript: Transcript): object {
  const speakers = new Speakers();
  const words = transcript.words ?? [];
  const segments = transcript.segments ?? segmentsOf(words);
  return {
    task: 'transcribe',
    language: transcript.language ?? request.language ?? undefined,
    duration: transcript.durationSeconds,
    confidence: fraction(transcript.confidence),
    words: wantsWords(request) && transcript.words ? words.map((word) => wordMember(word, speakers)) : undefined,
    segments: wantsSegments(request)
      ? segments.map((segment, id) => segmentMember(segment, id, speakers, request.diarize))
      : undefined,
  };
}

function wordMember({ word, start, end, speaker, confidence, channel, type }: TranscriptWord, speakers: Speakers) {
  return defined({
    word,
    start,
    end,
    speaker: speaker === undefined ? undefined : speakers.numberOf(speaker),
    speaker_label: speaker,
    confidence: fraction(confidence),
    channel,
    type,
  });
}

function segmentMember(
  { start, end, text, speaker, details }: TranscriptSegment,
  id: number,
  speakers: Speakers,
  isDiarized: boolean,
): object {
  const hasSpeaker = isDiarized && speaker !== undefined;
  return defined({ id, start, end, text, ...details, speaker: hasSpeaker ? speakers.numberOf(speaker) : undefined });
}

function entityMember({ text, type, startChar, endChar }: TranscriptEntity): object {
  return { text, type, start_char: startChar, end_char: endChar };
}

function fraction(value: number | undefined): number | undefined {
  return value !== undefined && value >= 0 && value <= 1 ? value : undefined;
}

/** Numbers the speakers in the order in which they speak, whatever the upstream calls them. */
class Speakers {
  readonly #numbers = new Map<string, number>();

  numberOf(label: string): number {
    const known = this.#numbers.get(label);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(label, number);
    return number;
  }
}
