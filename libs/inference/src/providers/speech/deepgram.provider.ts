import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { sentOptions } from '../../audio/speech-options';
import type { Transcript, TranscriptionResult, TranscriptWord } from '../../audio/transcript';
import type { ProviderAdapter } from '../provider';
import type { UpstreamHttp } from '../../wire/upstream-http';
import { placeEntities } from './entity-offsets';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { audioFileOf, SpeechSession } from './speech-session';

/** Deepgram's recordings API, version 1 (`POST /listen`). */
export class DeepgramProvider implements ProviderAdapter {
  readonly speech: SpeechAdapter;

  constructor(http: UpstreamHttp) {
    this.speech = { takesUrls: true, transcribe: (call) => transcribe(http, call) };
  }
}

async function transcribe(http: UpstreamHttp, call: TranscriptionCall): Promise<TranscriptionResult> {
  const path = `/listen?${queryOf(call).toString()}`;
  const session = new SpeechSession(http, call, (apiKey) => ['authorization', `Token ${apiKey}`]);
  const { url } = call.transcription.audio;
  const answer = url === null ? await sendFile(session, path, call) : await session.post(path, { url });
  const metadata = objectOf(answer['metadata']);
  const [channel] = objectsOf(objectOf(answer['results'])['channels']);
  const [best] = objectsOf(channel?.['alternatives']);
  const text = stringOf(best?.['transcript']);
  if (channel === undefined || best === undefined || text === undefined) throw session.broken('there is no transcript');
  return {
    transcript: transcriptOf(text, best, channel, numberOf(metadata['duration'])),
    seconds: numberOf(metadata['duration']) ?? null,
    tokens: null,
    upstreamId: stringOf(metadata['request_id']) ?? null,
  };
}

async function sendFile(session: SpeechSession, path: string, call: TranscriptionCall): Promise<JsonObject> {
  const { type, bytes } = await audioFileOf(call);
  return session.postBytes(path, type, bytes);
}

function queryOf({ transcription, endpoint }: TranscriptionCall): URLSearchParams {
  const { language, diarize, keyterms } = transcription;
  const options = sentOptions(transcription, endpoint);
  const query = new URLSearchParams({ model: endpoint.upstreamModel, punctuate: 'true' });
  if (language === null) query.set('detect_language', 'true');
  else query.set('language', language);
  if (diarize) query.set('diarize', 'true');
  for (const keyterm of keyterms) query.append('keyterm', keyterm);
  for (const [name, value] of Object.entries(options)) {
    query.delete(name);
    for (const one of Array.isArray(value) ? value : [value]) {
      query.append(name, typeof one === 'string' ? one : JSON.stringify(one));
    }
  }
  return query;
}

function transcriptOf(
  text: string,
  best: JsonObject,
  channel: JsonObject,
  durationSeconds: number | undefined,
): Transcript {
  const entities = objectsOf(best['entities']).map(({ value, label }) => ({
    text: stringOf(value) ?? '',
    type: stringOf(label) ?? 'unknown',
  }));
  return {
    text,
    language: stringOf(channel['detected_language']),
    languageConfidence: numberOf(channel['language_confidence']),
    confidence: numberOf(best['confidence']),
    durationSeconds,
    words: objectsOf(best['words']).flatMap(wordOf),
    entities: placeEntities(text, entities),
  };
}

function wordOf(word: JsonObject): TranscriptWord[] {
  const said = stringOf(word['punctuated_word']) ?? stringOf(word['word']);
  const { start, end, speaker } = word;
  if (said === undefined || typeof start !== 'number' || typeof end !== 'number') return [];
  const label = typeof speaker === 'number' ? `speaker_${speaker}` : undefined;
  return [{ word: said, start, end, speaker: label, confidence: numberOf(word['confidence']) }];
}
