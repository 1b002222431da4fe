import { defined, isObject, numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { sentOptions } from '../../audio/speech-options';
import { wantsWords } from '../../audio/transcription';
import { transcriptionTraitsOf } from '../../audio/transcription-traits';
import type { Transcript, TranscriptionResult, TranscriptSegment, TranscriptTokens } from '../../audio/transcript';
import type { Authenticate } from '../../wire/json-exchange';
import type { UpstreamHttp } from '../../wire/upstream-http';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { asBearer, audioFileOf, SpeechSession } from './speech-session';

const PATH = '/audio/transcriptions';
/** OpenAI's transcription API, which most hosts of Whisper and its successors have. */
export class OpenAiSpeech implements SpeechAdapter {
  readonly takesUrls = false;

  constructor(
    private readonly http: UpstreamHttp,
    private readonly authenticate: Authenticate = asBearer,
  ) {}

  async transcribe(call: TranscriptionCall): Promise<TranscriptionResult> {
    const fields = fieldsOf(call);
    const session = new SpeechSession(this.http, call, this.authenticate);
    const answer = await session.postForm(PATH, fields, { ...(await audioFileOf(call)), field: 'file' });
    const text = stringOf(answer['text']);
    if (text === undefined) throw session.broken('there is no text');
    return {
      transcript: transcriptOf(text, answer),
      ...usageOf(answer),
      upstreamId: stringOf(objectOf(answer['x_groq'])['id']) ?? stringOf(answer['id']) ?? null,
    };
  }
}

function fieldsOf({ transcription, endpoint }: TranscriptionCall): [string, string][] {
  const { language, temperature, isVerbose, granularities } = transcription;
  const options = sentOptions(transcription, endpoint);
  // Requests verbose JSON if the upstream supports it, because only then it reports the recording's length.
  const isAskedVerbose = isVerbose || transcriptionTraitsOf(endpoint).verboseJson;
  const fields: [string, string][] = [
    ['model', endpoint.upstreamModel],
    ['response_format', isAskedVerbose ? 'verbose_json' : 'json'],
  ];
  if (language !== null) fields.push(['language', language]);
  if (temperature !== null) fields.push(['temperature', String(temperature)]);
  if (isVerbose) {
    const wanted = new Set<string>([...granularities, ...(wantsWords(transcription) ? ['word'] : [])]);
    for (const granularity of wanted) fields.push(['timestamp_granularities[]', granularity]);
  }
  for (const [name, value] of Object.entries(options)) {
    fields.push([name, typeof value === 'string' ? value : JSON.stringify(value)]);
  }
  return fields;
}

function transcriptOf(text: string, answer: JsonObject): Transcript {
  const words = Array.isArray(answer['words'])
    ? objectsOf(answer['words']).flatMap((word) => {
        const [said, start, end] = [stringOf(word['word']), numberOf(word['start']), numberOf(word['end'])];
        return said === undefined || start === undefined || end === undefined ? [] : [{ word: said, start, end }];
      })
    : undefined;
  return {
    text,
    language: stringOf(answer['language']),
    durationSeconds: durationOf(answer),
    words,
    segments: Array.isArray(answer['segments']) ? objectsOf(answer['segments']).flatMap(segmentOf) : undefined,
  };
}

/** Returns the duration in seconds; some upstreams send it as a string. */
function durationOf({ duration }: JsonObject): number | undefined {
  // A text without digits would be the number 0.
  const seconds = typeof duration === 'string' && /\d/.test(duration) ? Number(duration) : numberOf(duration);
  return seconds !== undefined && Number.isFinite(seconds) ? seconds : undefined;
}

const DETAILS = ['seek', 'temperature', 'avg_logprob', 'compression_ratio', 'no_speech_prob'] as const;

function segmentOf(segment: JsonObject): TranscriptSegment[] {
  const { start, end, text, tokens } = segment;
  if (typeof start !== 'number' || typeof end !== 'number' || typeof text !== 'string') return [];
  const details = defined({
    ...Object.fromEntries(DETAILS.map((name) => [name, numberOf(segment[name])])),
    tokens: Array.isArray(tokens) ? tokens.filter((token) => typeof token === 'number') : undefined,
  }) as Readonly<Record<string, number | readonly number[]>>;
  return [{ start, end, text, details }];
}

function usageOf(answer: JsonObject): Pick<TranscriptionResult, 'seconds' | 'tokens'> {
  const usage = answer['usage'];
  const seconds = isObject(usage) ? numberOf(usage['seconds']) : undefined;
  return { seconds: seconds ?? durationOf(answer) ?? null, tokens: isObject(usage) ? tokensOf(usage) : null };
}

function tokensOf(usage: JsonObject): TranscriptTokens | null {
  const input = numberOf(usage['input_tokens']);
  const output = numberOf(usage['output_tokens']);
  if (input === undefined && output === undefined) return null;
  const details = objectOf(usage['input_token_details']);
  return { input: input ?? 0, audioInput: numberOf(details['audio_tokens']) ?? 0, output: output ?? 0 };
}
