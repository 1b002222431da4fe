import { readMultipart, type MultipartForm } from '../http/multipart';
import { jsonReply, type BodyReply, type Call, type Playback, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { tokensOf } from '../answers/tokens';
import { readMorse } from './morse';
import { findSegments, type SoundSegment } from './sound-segments';
import { readWave } from './wave';
import type { InferenceStart } from '../behaviours/inference-start';

const FORMATS = ['json', 'verbose_json', 'text'] as const;
type Format = (typeof FORMATS)[number];

interface Transcript {
  readonly text: string;
  readonly durationSeconds: number | null;
  readonly phrases: readonly Phrase[];
}

interface Phrase {
  readonly text: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly isSilence: boolean;
}

/**
 * `POST /v1/audio/transcriptions`: understands no speech, but Morse code; of any other WAVE file it says what it
 * measured.
 */
export async function answerTranscription(start: InferenceStart, call: Call): Promise<Reply> {
  const form = readMultipart(call);
  const file = form.file('file');
  const { model, playback, refusal } = start.begin('openai', form.field('model'), file.bytes);
  if (refusal) return refusal;
  const format = readFormat(form);
  const granularities = readGranularities(form, format);
  if (file.bytes.length === 0) throw new SandboxError(400, "'file' is empty", 'file', 'invalid_audio');
  const transcript = await transcribe(file.bytes);
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

async function transcribe(bytes: Buffer): Promise<Transcript> {
  const wave = readWave(bytes);
  if (!wave) return { text: '[sandbox] duration unknown: not a WAVE file', durationSeconds: null, phrases: [] };
  const { durationSeconds } = wave;
  if (!wave.sampleAt) {
    const text = `[sandbox] ${seconds(durationSeconds)} of audio in an encoding that is not read`;
    return { text, durationSeconds, phrases: [] };
  }
  const segments = await findSegments(wave);
  const words = readMorse(segments);
  if (words !== null) {
    const text = words.map((word) => word.text).join(' ');
    return {
      text: `[sandbox] ${text}`,
      durationSeconds,
      phrases: words.map((word) => ({ ...word, isSilence: false })),
    };
  }
  const phrases = segments.map(phraseOf);
  const text = phrases.length === 0 ? 'no audio' : phrases.map((phrase) => phrase.text).join(', ');
  return { text: `[sandbox] ${text}`, durationSeconds, phrases };
}

function phraseOf(segment: SoundSegment): Phrase {
  const { startSeconds, endSeconds, kind } = segment;
  const pitch = kind === 'tone' ? ` ${Math.round(segment.frequencyHz)} Hz` : '';
  const text = `${kind}${pitch} ${seconds(endSeconds - startSeconds)}`;
  return { text, startSeconds, endSeconds, isSilence: kind === 'silence' };
}

function seconds(duration: number): string {
  return `${duration.toFixed(1)} s`;
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

function segmentOf(phrase: Phrase, id: number): object {
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
    no_speech_prob: phrase.isSilence ? 0.99 : 0.01,
  };
}

/** The words of a phrase share its time evenly. */
function wordsOf(phrase: Phrase): object[] {
  const words = phrase.text.split(' ');
  const step = (phrase.endSeconds - phrase.startSeconds) / words.length;
  return words.map((word, index) => ({
    word,
    start: round(phrase.startSeconds + index * step),
    end: round(phrase.startSeconds + (index + 1) * step),
  }));
}

/** By duration where it is known; otherwise by the tokens of the text. */
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
