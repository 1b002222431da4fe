import { numberOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { sentOptions } from '../../audio/speech-options';
import { wantsWords, wantsSegments } from '../../audio/transcription';
import type { TranscriptionResult, TranscriptWord } from '../../audio/transcript';
import type { ProviderAdapter } from '../provider';
import type { UpstreamHttp } from '../../wire/upstream-http';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { audioFileOf, SpeechSession, type FormFields } from './speech-session';

const PATH = '/speech-to-text';
/** ElevenLabs' speech to text, version 1. */
export class ElevenLabsProvider implements ProviderAdapter {
  readonly speech: SpeechAdapter;

  constructor(http: UpstreamHttp) {
    this.speech = { takesUrls: true, transcribe: (call) => transcribe(http, call) };
  }
}

async function transcribe(http: UpstreamHttp, call: TranscriptionCall): Promise<TranscriptionResult> {
  const fields = fieldsOf(call);
  const session = new SpeechSession(http, call, (apiKey) => ['xi-api-key', apiKey]);
  const { url } = call.transcription.audio;
  const answer =
    url === null
      ? await session.postForm(PATH, fields, { ...(await audioFileOf(call)), field: 'file' })
      : await session.postForm(PATH, [...fields, ['source_url', url]], null);
  const text = stringOf(answer['text']);
  if (text === undefined) throw session.broken('there is no text');
  const seconds = numberOf(answer['audio_duration_secs']);
  return {
    transcript: {
      text,
      language: stringOf(answer['language_code']),
      languageConfidence: numberOf(answer['language_probability']),
      durationSeconds: seconds,
      words: objectsOf(answer['words']).flatMap(wordOf),
      entities: objectsOf(answer['entities']).flatMap(entityOf),
    },
    seconds: seconds ?? null,
    tokens: null,
    upstreamId: stringOf(answer['transcription_id']) ?? null,
  };
}

function fieldsOf({ transcription, endpoint }: TranscriptionCall): FormFields {
  const { language, temperature, diarize, keyterms } = transcription;
  const options = sentOptions(transcription, endpoint);
  const isTimed = wantsWords(transcription) || wantsSegments(transcription);
  const fields: [string, string][] = [
    ['model_id', endpoint.upstreamModel],
    ['timestamps_granularity', isTimed ? 'word' : 'none'],
  ];
  if (language !== null) fields.push(['language_code', language]);
  if (temperature !== null) fields.push(['temperature', String(temperature)]);
  if (diarize) fields.push(['diarize', 'true']);
  for (const keyterm of keyterms) fields.push(['keyterms', keyterm]);
  for (const [name, value] of Object.entries(options)) {
    fields.push([name, typeof value === 'string' ? value : JSON.stringify(value)]);
  }
  return fields;
}

/** The spaces between words are separate items in this API. */
function wordOf(word: JsonObject): TranscriptWord[] {
  const { text, start, end, type, logprob } = word;
  if (type === 'spacing' || typeof text !== 'string' || typeof start !== 'number' || typeof end !== 'number') return [];
  return [
    {
      word: text,
      start,
      end,
      speaker: stringOf(word['speaker_id']),
      confidence: typeof logprob === 'number' ? Math.exp(logprob) : undefined,
      channel: numberOf(word['channel_index']),
      type: type === 'audio_event' ? 'audio_event' : 'word',
    },
  ];
}

function entityOf(entity: JsonObject) {
  const { text, entity_type: type, start_char: startChar, end_char: endChar } = entity;
  const isPlaced = typeof startChar === 'number' && typeof endChar === 'number';
  return typeof text === 'string' && isPlaced ? [{ text, type: stringOf(type) ?? 'unknown', startChar, endChar }] : [];
}
