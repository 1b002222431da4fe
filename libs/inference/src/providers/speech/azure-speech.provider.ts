import { defined, numberOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { sentOptions } from '../../audio/speech-options';
import type { TranscriptionResult, TranscriptSegment, TranscriptWord } from '../../audio/transcript';
import type { ProviderAdapter } from '../provider';
import type { UpstreamHttp } from '../../wire/upstream-http';
import type { SpeechAdapter, TranscriptionCall } from './speech-adapter';
import { audioFileOf, SpeechSession } from './speech-session';

const PATH = '/speechtotext/transcriptions:transcribe?api-version=2025-10-15';
const MOST_SPEAKERS = 10;
/** Matches models that are run in Azure's "enhanced" mode. It accepts language codes unchanged, without a country. */
const ENHANCED = /^mai-/i;

/** The country for each language, for models that require one (`de-DE`). */
const COUNTRIES: Readonly<Record<string, string>> = {
  ar: 'ar-SA',
  da: 'da-DK',
  en: 'en-US',
  hi: 'hi-IN',
  ja: 'ja-JP',
  ko: 'ko-KR',
  pt: 'pt-BR',
  sv: 'sv-SE',
  zh: 'zh-CN',
};

/** Fast transcription of Azure AI Speech at `https://<resource>.cognitiveservices.azure.com`. */
export class AzureSpeechProvider implements ProviderAdapter {
  readonly speech: SpeechAdapter;

  constructor(http: UpstreamHttp) {
    this.speech = { takesUrls: false, transcribe: (call) => transcribe(http, call) };
  }
}

async function transcribe(http: UpstreamHttp, call: TranscriptionCall): Promise<TranscriptionResult> {
  const session = new SpeechSession(http, call, (apiKey) => ['ocp-apim-subscription-key', apiKey]);
  const definition = JSON.stringify(definitionOf(call));
  const file = { ...(await audioFileOf(call)), field: 'audio' };
  const answer = await session.postForm(PATH, [['definition', definition]], file);
  const texts = objectsOf(answer['combinedPhrases']).map(({ text }) => stringOf(text));
  if (!Array.isArray(answer['combinedPhrases']) || texts.includes(undefined)) throw session.broken('there is no text');
  const phrases = objectsOf(answer['phrases']);
  const milliseconds = numberOf(answer['durationMilliseconds']);
  const seconds = milliseconds === undefined ? null : milliseconds / 1_000;
  return {
    transcript: {
      text: texts.join(' '),
      language: stringOf(phrases[0]?.['locale']),
      durationSeconds: seconds ?? undefined,
      confidence: confidenceOf(phrases),
      words: phrases.flatMap(wordsOf),
      segments: phrases.flatMap(segmentOf),
    },
    seconds,
    tokens: null,
    upstreamId: null,
  };
}

function definitionOf({ transcription, endpoint }: TranscriptionCall): object {
  const { language, diarize, keyterms } = transcription;
  const isEnhanced = ENHANCED.test(endpoint.upstreamModel);
  return defined({
    locales: language === null ? undefined : [isEnhanced ? language : localeOf(language)],
    diarization: diarize ? { enabled: true, maxSpeakers: MOST_SPEAKERS } : undefined,
    phraseList: keyterms.length > 0 ? { phrases: keyterms } : undefined,
    enhancedMode: isEnhanced ? { enabled: true, model: endpoint.upstreamModel } : undefined,
    ...sentOptions(transcription, endpoint),
  });
}

/** Returns the locale of a language: `de` becomes `de-DE`; languages with a different country code are in the list. */
function localeOf(language: string): string {
  return COUNTRIES[language] ?? `${language}-${language.toUpperCase()}`;
}

interface Placed {
  readonly start: number;
  readonly end: number;
}

function placeOf(item: JsonObject): Placed | null {
  const [offset, duration] = [numberOf(item['offsetMilliseconds']), numberOf(item['durationMilliseconds'])];
  if (offset === undefined || duration === undefined) return null;
  return { start: offset / 1_000, end: (offset + duration) / 1_000 };
}

function speakerOf({ speaker }: JsonObject): string | undefined {
  return typeof speaker === 'number' ? String(speaker) : undefined;
}

/** Returns the words of a phrase with its speaker and channel, because Azure reports these per phrase, not per word. */
function wordsOf(phrase: JsonObject): TranscriptWord[] {
  const [speaker, channel] = [speakerOf(phrase), numberOf(phrase['channel'])];
  return objectsOf(phrase['words']).flatMap((word) => {
    const [text, place] = [stringOf(word['text']), placeOf(word)];
    return text === undefined || place === null ? [] : [{ word: text, ...place, speaker, channel }];
  });
}

function segmentOf(phrase: JsonObject): TranscriptSegment[] {
  const [text, place] = [stringOf(phrase['text']), placeOf(phrase)];
  return text === undefined || place === null ? [] : [{ ...place, text, speaker: speakerOf(phrase) }];
}

/** Returns the confidence of the whole transcript: the average of its phrases, weighted by length. */
function confidenceOf(phrases: readonly JsonObject[]): number | undefined {
  let [sum, milliseconds] = [0, 0];
  for (const phrase of phrases) {
    const [confidence, duration] = [numberOf(phrase['confidence']), numberOf(phrase['durationMilliseconds'])];
    if (confidence === undefined || duration === undefined) continue;
    sum += confidence * duration;
    milliseconds += duration;
  }
  return milliseconds > 0 ? Math.min(1, Math.max(0, sum / milliseconds)) : undefined;
}
