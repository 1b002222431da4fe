import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { wantsSegments, wantsWords } from '../../audio/transcription';
import type { TranscriptionResult, TranscriptSegment } from '../../audio/transcript';
import type { UpstreamHttp } from '../../wire/upstream-http';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { asBearer, audioFileOf, SpeechSession, type FormFields } from './speech-session';

const PATH = '/audio/transcriptions';

/**
 * Mistral's transcription API. Its answer has one list, of words or of segments, as requested. If both are wanted,
 * words are requested, and segments are made from them.
 */
export class MistralSpeech implements SpeechAdapter {
  readonly takesUrls = true;

  constructor(private readonly http: UpstreamHttp) {}

  async transcribe(call: TranscriptionCall): Promise<TranscriptionResult> {
    const { transcription } = call;
    const fields = fieldsOf(call);
    const session = new SpeechSession(this.http, call, asBearer);
    const { url } = transcription.audio;
    const answer =
      url === null
        ? await session.postForm(PATH, fields, { ...(await audioFileOf(call)), field: 'file' })
        : await session.postForm(PATH, [...fields, ['file_url', url]], null);
    const text = stringOf(answer['text']);
    if (text === undefined) throw session.broken('there is no text');
    const pieces = objectsOf(answer['segments']).flatMap(pieceOf);
    const isByWord = wantsWords(transcription);
    const words = pieces.map(({ text: word, start, end, speaker }) => ({ word, start, end, speaker }));
    return {
      transcript: {
        text,
        language: stringOf(answer['language']),
        words: isByWord ? words : undefined,
        segments: isByWord ? undefined : pieces,
      },
      seconds: numberOf(objectOf(answer['usage'])['prompt_audio_seconds']) ?? null,
      tokens: null,
      upstreamId: stringOf(answer['id']) ?? null,
    };
  }
}

function fieldsOf({ transcription, endpoint }: TranscriptionCall): FormFields {
  const { language, temperature, diarize, keyterms } = transcription;
  const fields: [string, string][] = [['model', endpoint.upstreamModel]];
  if (language !== null) fields.push(['language', language]);
  if (temperature !== null) fields.push(['temperature', String(temperature)]);
  if (diarize) fields.push(['diarize', 'true']);
  if (wantsWords(transcription)) fields.push(['timestamp_granularities', 'word']);
  else if (wantsSegments(transcription)) fields.push(['timestamp_granularities', 'segment']);
  for (const keyterm of keyterms) fields.push(['context_bias', keyterm]);
  return fields;
}

function pieceOf({ text, start, end, speaker_id: speaker }: JsonObject): TranscriptSegment[] {
  if (typeof text !== 'string' || typeof start !== 'number' || typeof end !== 'number') return [];
  return [{ text, start, end, speaker: stringOf(speaker) }];
}
