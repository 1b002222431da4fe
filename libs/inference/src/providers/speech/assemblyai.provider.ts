import { defined, numberOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { sentOptions } from '../../audio/speech-options';
import type { Transcript, TranscriptionResult, TranscriptWord } from '../../audio/transcript';
import type { ProviderAdapter } from '../provider';
import type { UpstreamHttp } from '../../wire/upstream-http';
import { placeEntities } from './entity-offsets';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { audioFileOf, SpeechSession } from './speech-session';

const BINARY = 'application/octet-stream';
const MILLISECONDS = 1_000;
/** AssemblyAI's REST API, version 2: uploads a recording and polls for the result. */
export class AssemblyAiProvider implements ProviderAdapter {
  readonly speech: SpeechAdapter;

  constructor(http: UpstreamHttp) {
    this.speech = { takesUrls: true, transcribe: (call) => transcribe(http, call) };
  }
}

async function transcribe(http: UpstreamHttp, call: TranscriptionCall): Promise<TranscriptionResult> {
  const request = requestOf(call);
  const session = new SpeechSession(http, call, (apiKey) => ['authorization', apiKey]);
  const audioUrl = call.transcription.audio.url ?? (await upload(session, call));
  const id = stringOf((await session.post('/transcript', { ...request, audio_url: audioUrl }))['id']);
  if (id === undefined) throw session.broken('the job has no id');
  const path = `/transcript/${encodeURIComponent(id)}`;
  const job = await session.poll(path, ({ status }) => status === 'completed' || status === 'error', path);
  if (job['status'] === 'error') throw session.jobFailed(stringOf(job['error']));
  const text = stringOf(job['text']);
  if (text === undefined) throw session.broken('there is no text');
  const seconds = numberOf(job['audio_duration']);
  return { transcript: transcriptOf(text, job, seconds), seconds: seconds ?? null, tokens: null, upstreamId: id };
}

async function upload(session: SpeechSession, call: TranscriptionCall): Promise<string> {
  const { bytes } = await audioFileOf(call);
  const url = stringOf((await session.postBytes('/upload', BINARY, bytes))['upload_url']);
  if (url === undefined) throw session.broken('the upload has no URL');
  return url;
}

function requestOf({ transcription, endpoint }: TranscriptionCall): object {
  const { language, diarize, keyterms } = transcription;
  return {
    ...sentOptions(transcription, endpoint),
    ...defined({
      speech_models: [endpoint.upstreamModel],
      language_code: language ?? undefined,
      language_detection: language === null ? true : undefined,
      speaker_labels: diarize || undefined,
      keyterms_prompt: keyterms.length > 0 ? keyterms : undefined,
    }),
  };
}

function transcriptOf(text: string, job: JsonObject, durationSeconds: number | undefined): Transcript {
  const entities = objectsOf(job['entities']).map((entity) => ({
    text: stringOf(entity['text']) ?? '',
    type: stringOf(entity['entity_type']) ?? 'unknown',
  }));
  return {
    text,
    language: stringOf(job['language_code']),
    languageConfidence: numberOf(job['language_confidence']),
    confidence: numberOf(job['confidence']),
    durationSeconds,
    words: objectsOf(job['words']).flatMap(wordOf),
    entities: placeEntities(text, entities),
  };
}

function wordOf(word: JsonObject): TranscriptWord[] {
  const { text, start, end } = word;
  if (typeof text !== 'string' || typeof start !== 'number' || typeof end !== 'number') return [];
  const speaker = stringOf(word['speaker']);
  const confidence = numberOf(word['confidence']);
  return [{ word: text, start: start / MILLISECONDS, end: end / MILLISECONDS, speaker, confidence }];
}
