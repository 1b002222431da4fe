import { readMultipart, type MultipartForm } from '../http/multipart';
import { jsonReply, type BodyReply, type Call, type Playback, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { tokensOf } from '../answers/tokens';
import { isRecording, recordedPhrases, type SpokenPhrase } from '../media/recording';
import { readWaveSeconds } from './wave-seconds';
import type { InferenceStart } from '../behaviours/inference-start';

const FORMATS = ['json', 'verbose_json', 'text'] as const;
type Format = (typeof FORMATS)[number];

interface Transcript {
  readonly text: string;
  readonly durationSeconds: number | null;
  readonly phrases: readonly SpokenPhrase[];
}

/**
 * `POST /v1/audio/transcriptions`: knows the words of the sandbox's own recording; for any other WAVE file it answers
 * the length.
 */
export function answerTranscription(start: InferenceStart, call: Call): Reply {
  const form = readMultipart(call);
  const file = form.file('file');
  const { model, playback, refusal } = start.begin('openai', form.field('model'), file.bytes);
  if (refusal) return refusal;
  const format = readFormat(form);
  const granularities = readGranularities(form, format);
  if (file.bytes.length === 0) throw new SandboxError(400, "'file' is empty", 'file', 'invalid_audio');
  const transcript = transcribe(file.bytes);
  if (format === 'text') return textReply(transcript, playback);
  const usage = model.behaviour.omitsUsage ? {} : { usage: usageOf(transcript) };
  if (format === 'json') return jsonReply({ text: transcript.text, ...usage }, playback);
  return jsonReply({ ...verbose(transcript, granularities), ...usage }, playback);
}

function readFormat(form: MultipartForm): Format {
  const wanted = form.field('response_format') ?? 'json';
  const format = FORMATS.find((candidate) => candidate === wanted);
  if (!format) throw new SandboxError(400, `'response_format' must be one of ${FORMATS.join(', ')}`, 'response_format');
  return format;
}

function readGranularities(form: MultipartForm, format: Format): ReadonlySet<string> {
  const granularities = form.list('timestamp_granularities');
  const name = 'timestamp_granularities';
  if (granularities.some((granularity) => granularity !== 'word' && granularity !== 'segment')) {
    throw new SandboxError(400, `'${name}' may hold 'word' and 'segment'`, name);
  }
  if (granularities.length > 0 && format !== 'verbose_json') {
    throw new SandboxError(400, `'${name}' needs the response format verbose_json`, name);
  }
  return new Set(granularities.length === 0 ? ['segment'] : granularities);
}

function transcribe(bytes: Buffer): Transcript {
  const durationSeconds = readWaveSeconds(bytes);
  if (durationSeconds === null) {
    return { text: '[sandbox] duration unknown: not a WAVE file', durationSeconds, phrases: [] };
  }
  const length = `${durationSeconds.toFixed(1)} s of audio`;
  const phrases = isRecording(bytes)
    ? recordedPhrases
    : [{ text: length, startSeconds: 0, endSeconds: durationSeconds }];
  return { text: `[sandbox] ${phrases.map(({ text }) => text).join(' ')}`, durationSeconds, phrases };
}

function verbose(transcript: Transcript, granularities: ReadonlySet<string>): object {
  const { text, durationSeconds, phrases } = transcript;
  return {
    task: 'transcribe',
    language: 'english',
    duration: round(durationSeconds ?? 0),
    text,
    ...(granularities.has('segment') ? { segments: phrases.map(segmentOf) } : {}),
    ...(granularities.has('word') ? { words: phrases.flatMap(wordsOf) } : {}),
  };
}

function segmentOf(phrase: SpokenPhrase, id: number): object {
  return {
    id,
    seek: Math.floor(phrase.startSeconds * 100),
    start: round(phrase.startSeconds),
    end: round(phrase.endSeconds),
    text: phrase.text,
    tokens: [],
    temperature: 0,
    avg_logprob: -0.1,
    compression_ratio: 1,
    no_speech_prob: 0.01,
  };
}

/** Spreads the time of a phrase evenly over its words. */
function wordsOf(phrase: SpokenPhrase): object[] {
  const words = phrase.text.split(' ');
  const step = (phrase.endSeconds - phrase.startSeconds) / words.length;
  return words.map((word, index) => ({
    word,
    start: round(phrase.startSeconds + index * step),
    end: round(phrase.startSeconds + (index + 1) * step),
  }));
}

/** By duration if it is known; otherwise by the tokens of the text. */
function usageOf(transcript: Transcript): object {
  if (transcript.durationSeconds !== null) return { type: 'duration', seconds: Math.ceil(transcript.durationSeconds) };
  const outputTokens = tokensOf(transcript.text);
  return { type: 'tokens', input_tokens: 0, output_tokens: outputTokens, total_tokens: outputTokens };
}

function textReply(transcript: Transcript, playback: Playback): BodyReply {
  const body = `${transcript.text}\n`;
  return { kind: 'body', status: 200, contentType: 'text/plain; charset=utf-8', body, playback };
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
