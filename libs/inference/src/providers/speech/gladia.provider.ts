import { defined, numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { sentOptions } from '../../audio/speech-options';
import type { Transcript, TranscriptionResult, TranscriptWord } from '../../audio/transcript';
import type { ProviderAdapter } from '../provider';
import type { UpstreamHttp } from '../../wire/upstream-http';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { audioFileOf, SpeechSession } from './speech-session';

const JOBS = '/pre-recorded';
/** Gladia's pre-recorded API, version 2: uploads a recording and polls for the result. */
export class GladiaProvider implements ProviderAdapter {
  readonly speech: SpeechAdapter;

  constructor(http: UpstreamHttp) {
    this.speech = { takesUrls: true, transcribe: (call) => transcribe(http, call) };
  }
}

async function transcribe(http: UpstreamHttp, call: TranscriptionCall): Promise<TranscriptionResult> {
  const request = requestOf(call);
  const session = new SpeechSession(http, call, (apiKey) => ['x-gladia-key', apiKey]);
  const audioUrl = call.transcription.audio.url ?? (await upload(session, call));
  const id = stringOf((await session.post(JOBS, { ...request, audio_url: audioUrl }))['id']);
  if (id === undefined) throw session.broken('the job has no id');
  // The result URL in the reply is not used: the key is sent only to the host of the catalogue.
  const path = `${JOBS}/${encodeURIComponent(id)}`;
  const job = await session.poll(path, ({ status }) => status === 'done' || status === 'error', path);
  if (job['status'] === 'error') throw failed(session, job);
  const result = objectOf(job['result']);
  const transcription = objectOf(result['transcription']);
  const text = stringOf(transcription['full_transcript']);
  if (text === undefined) throw session.broken('there is no transcript');
  const seconds = numberOf(objectOf(result['metadata'])['audio_duration']);
  const transcript = transcriptOf(text, transcription, seconds);
  return { transcript, seconds: seconds ?? null, tokens: null, upstreamId: id };
}

/** A failed job gets the status that a single request with this error would have. */
function failed(session: SpeechSession, { error_code: code }: JsonObject) {
  const isCallers = typeof code === 'number' && code >= 400 && code < 500;
  return session.jobFailed(isCallers ? 'The audio cannot be read' : undefined);
}

async function upload(session: SpeechSession, call: TranscriptionCall): Promise<string> {
  const answer = await session.postForm('/upload', [], { ...(await audioFileOf(call)), field: 'audio' });
  const url = stringOf(answer['audio_url']);
  if (url === undefined) throw session.broken('the upload has no URL');
  return url;
}

function requestOf({ transcription, endpoint }: TranscriptionCall): object {
  const { language, diarize, keyterms } = transcription;
  const hasKeyterms = keyterms.length > 0;
  return {
    ...sentOptions(transcription, endpoint),
    ...defined({
      model: endpoint.upstreamModel,
      language_config: language === null ? undefined : { languages: [language] },
      diarization: diarize || undefined,
      custom_vocabulary: hasKeyterms || undefined,
      custom_vocabulary_config: hasKeyterms ? { vocabulary: keyterms } : undefined,
    }),
  };
}

function transcriptOf(text: string, transcription: JsonObject, durationSeconds: number | undefined): Transcript {
  const utterances = objectsOf(transcription['utterances']);
  const [language] = Array.isArray(transcription['languages']) ? (transcription['languages'] as unknown[]) : [];
  return { text, language: stringOf(language), durationSeconds, words: utterances.flatMap(wordsOf) };
}

/** Returns the words with the speaker of their utterance, because words have none. */
function wordsOf({ words, speaker, channel }: JsonObject): TranscriptWord[] {
  const label = typeof speaker === 'number' ? `speaker_${speaker}` : undefined;
  return objectsOf(words).flatMap(({ word, start, end, confidence }) => {
    if (typeof word !== 'string' || typeof start !== 'number' || typeof end !== 'number') return [];
    const said = { word, start, end, confidence: numberOf(confidence), channel: numberOf(channel) };
    return [{ ...said, speaker: label }];
  });
}
