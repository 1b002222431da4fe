import { defined, numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { Transcription } from '../../audio/transcription';
import type { TranscriptionResult, TranscriptTokens } from '../../audio/transcript';
import type { Endpoint } from '../../catalogue/catalogue';
import { googleError } from '../../dialects/google-generate-content/error';
import { generationSettings } from './google-speech-settings';
import type { SizedBody } from '../../wire/upstream-call';
import type { UpstreamHttp } from '../../wire/upstream-http';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { audioFileOf, SpeechSession } from './speech-session';

const JSON_TYPE = 'application/json';
const TASK = 'Write down what is said in this recording, word for word, in the language that is spoken.';
const MANNER = 'Answer with the transcript alone, without times, names of speakers or remarks.';
/** Three bytes are four characters. */
const ENCODED_BYTES = 3 * 64 * 1024;

/** Transcription with Gemini models: the recording is part of a prompt that asks for its text. */
export class GoogleSpeech implements SpeechAdapter {
  readonly takesUrls = false;

  constructor(private readonly http: UpstreamHttp) {}

  outputCap(transcription: Transcription, endpoint: Endpoint): number {
    return generationSettings(transcription, endpoint).maxOutputTokens;
  }

  async transcribe(call: TranscriptionCall): Promise<TranscriptionResult> {
    const { endpoint } = call;
    const session = new SpeechSession(this.http, call, (apiKey) => ['x-goog-api-key', apiKey], googleError);
    const name = endpoint.upstreamModel;
    const path = `/${encodeURI(name.includes('/') ? name : `models/${name}`)}:generateContent`;
    const answer = await session.postBytes(path, JSON_TYPE, await promptOf(call));
    const [candidate] = objectsOf(answer['candidates']);
    if (candidate === undefined) throw session.broken('there is no candidate');
    const parts = objectsOf(objectOf(candidate['content'])['parts']).filter(({ thought }) => thought !== true);
    return {
      transcript: {
        text: parts
          .map(({ text }) => stringOf(text) ?? '')
          .join('')
          .trim(),
      },
      seconds: null,
      tokens: tokensOf(objectOf(answer['usageMetadata'])),
      upstreamId: stringOf(answer['responseId']) ?? null,
    };
  }
}

async function promptOf(call: TranscriptionCall): Promise<SizedBody> {
  const { transcription, endpoint } = call;
  const { type, bytes } = await audioFileOf(call);
  const settings = generationSettings(transcription, endpoint);
  const generationConfig = defined({ ...settings, temperature: transcription.temperature ?? undefined });
  const mark = '""';
  const inlineData = { mimeType: type, data: '' };
  const contents = [{ role: 'user', parts: [{ text: instruction(transcription) }, { inlineData }] }];
  const json = JSON.stringify({ generationConfig, contents });
  const at = json.lastIndexOf(mark) + 1;
  return inBase64(Buffer.from(json.slice(0, at)), bytes, Buffer.from(json.slice(at)));
}

function instruction({ language }: Transcription): string {
  return [TASK, MANNER, ...(language === null ? [] : [`The language is ${language} (ISO 639-1).`])].join(' ');
}

/** Yields the bytes as base64 between two texts, encoded while they are sent. */
function inBase64(before: Buffer, bytes: SizedBody, after: Buffer): SizedBody {
  return {
    length: before.length + Math.ceil(bytes.length / 3) * 4 + after.length,
    async *[Symbol.asyncIterator]() {
      yield before;
      let rest: Buffer = Buffer.alloc(0);
      for await (const piece of bytes) {
        for (let at = 0; at < piece.length; at += ENCODED_BYTES) {
          const joined = Buffer.concat([rest, piece.subarray(at, at + ENCODED_BYTES)]);
          const whole = joined.length - (joined.length % 3);
          rest = joined.subarray(whole);
          yield Buffer.from(joined.toString('base64', 0, whole));
        }
      }
      yield Buffer.from(rest.toString('base64'));
      yield after;
    },
  };
}

function tokensOf(usage: JsonObject): TranscriptTokens | null {
  const input = numberOf(usage['promptTokenCount']);
  if (input === undefined) return null;
  const audio = objectsOf(usage['promptTokensDetails']).find(({ modality }) => modality === 'AUDIO');
  const output = (numberOf(usage['candidatesTokenCount']) ?? 0) + (numberOf(usage['thoughtsTokenCount']) ?? 0);
  return { input, audioInput: numberOf(audio?.['tokenCount']) ?? 0, output };
}
