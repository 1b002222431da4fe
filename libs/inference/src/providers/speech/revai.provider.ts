import { defined, numberOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { sentOptions } from '../../audio/speech-options';
import type { Transcript, TranscriptionResult, TranscriptWord } from '../../audio/transcript';
import type { ProviderAdapter } from '../provider';
import type { UpstreamHttp } from '../../wire/upstream-http';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { asBearer, audioFileOf, SpeechSession } from './speech-session';

const JOBS = '/jobs';
const TRANSCRIPT_TYPE = 'application/vnd.rev.transcript.v1.0+json';
/**
 * Rev AI's asynchronous API, version 1: creates a job for the recording and fetches the transcript when the job is
 * done.
 */
export class RevAiProvider implements ProviderAdapter {
  readonly speech: SpeechAdapter;

  constructor(http: UpstreamHttp) {
    this.speech = { takesUrls: true, transcribe: (call) => transcribe(http, call) };
  }
}

async function transcribe(http: UpstreamHttp, call: TranscriptionCall): Promise<TranscriptionResult> {
  const options = optionsOf(call);
  const session = new SpeechSession(http, call, asBearer);
  const id = stringOf((await submit(session, call, options))['id']);
  if (id === undefined) throw session.broken('the job has no id');
  const path = `${JOBS}/${encodeURIComponent(id)}`;
  const job = await session.poll(path, ({ status }) => status === 'transcribed' || status === 'failed', path);
  if (job['status'] === 'failed') {
    throw session.jobFailed(stringOf(job['failure_detail']), stringOf(job['failure']) ?? null);
  }
  const monologues = (await session.get(`${path}/transcript`, TRANSCRIPT_TYPE))['monologues'];
  if (!Array.isArray(monologues)) throw session.broken('there is no transcript');
  const seconds = numberOf(job['duration_seconds']);
  const language = stringOf(job['language']) ?? call.transcription.language ?? undefined;
  const transcript = transcriptOf(objectsOf(monologues), language, seconds);
  return { transcript, seconds: seconds ?? null, tokens: null, upstreamId: id };
}

async function submit(session: SpeechSession, call: TranscriptionCall, options: object): Promise<JsonObject> {
  const { url } = call.transcription.audio;
  if (url !== null) return session.post(JOBS, { ...options, source_config: { url } });
  const file = { ...(await audioFileOf(call)), field: 'media' };
  return session.postForm(JOBS, [['options', JSON.stringify(options)]], file);
}

function optionsOf({ transcription, endpoint }: TranscriptionCall): object {
  const { language, diarize, keyterms } = transcription;
  return {
    ...sentOptions(transcription, endpoint),
    ...defined({
      transcriber: endpoint.upstreamModel,
      language: language ?? undefined,
      skip_diarization: !diarize,
      custom_vocabularies: keyterms.length > 0 ? [{ phrases: keyterms }] : undefined,
    }),
  };
}

function transcriptOf(
  monologues: readonly JsonObject[],
  language: string | undefined,
  durationSeconds: number | undefined,
): Transcript {
  const said = monologues.map(({ elements }) =>
    objectsOf(elements)
      .map(({ value }) => stringOf(value) ?? '')
      .join(''),
  );
  const text = said.join(' ').trim();
  return { text, language, durationSeconds, words: monologues.flatMap(wordsOf) };
}

/** Punctuation is a separate element, and belongs to the word before it. */
function wordsOf({ elements, speaker }: JsonObject): TranscriptWord[] {
  const words: TranscriptWord[] = [];
  const label = typeof speaker === 'number' ? `speaker_${speaker}` : undefined;
  for (const element of objectsOf(elements)) {
    const { type, value, ts: start, end_ts: end, confidence } = element;
    const last = words.at(-1);
    if (typeof value !== 'string') continue;
    if (type === 'text' && typeof start === 'number' && typeof end === 'number') {
      words.push({ word: value, start, end, speaker: label, confidence: numberOf(confidence) });
    } else if (type === 'punct' && last !== undefined && value.trim() !== '') {
      words[words.length - 1] = { ...last, word: last.word + value.trim() };
    }
  }
  return words;
}
