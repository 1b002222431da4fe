import { MalformedJson, parseJson } from '@libs/json';
import { AppError } from '@libs/errors';
import type { FinishReason } from '../model/finish-reason';
import type { AnswerEvent, AnswerPart } from '../model/canonical-answer';
import type { Api, Endpoint } from '../catalogue/catalogue';
import { TRANSLATIONS } from './dialect-pairs';
import { EventSplitter, EventTooLarge } from './event-splitter';
import type { UpstreamTranslation } from './translation';

/** The output of a model in an answer, on any API. */
export interface AnswerWords {
  /** The text that the model wrote; null if it wrote none. */
  readonly text: string | null;
  readonly reasoning: string | null;
  readonly toolCalls: readonly SaidCall[];
}

export interface SaidCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
}

const NO_WORDS: AnswerWords = { text: null, reasoning: null, toolCalls: [] };
const MOST_EVENT_BYTES = 16 * 1024 * 1024;

/** Returns the output of a whole answer as a caller of `api` got it; of several choices, the first. */
export function wordsOfAnswer(api: Api, body: Buffer, endpoint: Endpoint): AnswerWords {
  return readWith(api, (upstream) => {
    const [first] = upstream.readAnswer(parseJson(body), endpoint).choices;
    const gathered = new WordGatherer();
    first?.parts.forEach((part, index) => gathered.addPart(part, index));
    return gathered;
  });
}

/** Returns how the first choice of a whole answer to a caller of `api` ended: our finish reason and the upstream's. */
export function endOfAnswer(api: Api, body: Buffer, endpoint: Endpoint): AnswerEnd {
  const translation = TRANSLATIONS.get(api);
  return readable(UNKNOWN_END, () => {
    const first = translation?.upstream.readAnswer(parseJson(body), endpoint).choices[0];
    return first ?? UNKNOWN_END;
  });
}

export interface AnswerEnd {
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
}

const UNKNOWN_END: AnswerEnd = { finishReason: null, nativeFinishReason: null };

/**
 * Returns the output of a streamed answer as a caller of `api` got it. For a stream that was cut, or that ends in
 * an error, the output before that.
 */
export function wordsOfStream(api: Api, events: Buffer, endpoint: Endpoint): AnswerWords {
  return readWith(api, (upstream) => {
    const reader = upstream.readStream(endpoint);
    const gathered = new WordGatherer();
    const splitter = new EventSplitter(MOST_EVENT_BYTES, (data, name) => {
      for (const event of reader.read({ name, data: data.toString() })) gathered.add(event);
    });
    try {
      splitter.push(events);
    } catch (thrown) {
      if (!(thrown instanceof AppError) && !(thrown instanceof EventTooLarge)) throw thrown;
    }
    return gathered;
  });
}

/** Reads an answer with the reader for upstreams of its API. Embeddings have no text. */
function readWith(api: Api, read: (upstream: UpstreamTranslation) => WordGatherer): AnswerWords {
  const translation = TRANSLATIONS.get(api);
  if (translation === undefined) return NO_WORDS;
  return readable(NO_WORDS, () => read(translation.upstream).words);
}

/** Returns the result of `read`, or `otherwise` if the answer cannot be read. */
function readable<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof AppError || thrown instanceof MalformedJson) return otherwise;
    throw thrown;
  }
}

class WordGatherer {
  #text = '';
  #reasoning = '';
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>();

  get words(): AnswerWords {
    return { text: this.#text || null, reasoning: this.#reasoning || null, toolCalls: [...this.#calls.values()] };
  }

  add(event: AnswerEvent): void {
    if (event.type === 'text-delta') this.#text += event.text;
    else if (event.type === 'reasoning-delta') this.#think(event.delta);
    else if (event.type === 'tool-arguments-delta') this.#argue(event.part, event.arguments);
    else if (event.type === 'part-start' && event.kind === 'tool-call') {
      this.#calls.set(event.part, { id: event.id, name: event.name, arguments: '' });
    }
  }

  addPart(part: AnswerPart, index: number): void {
    if (part.type === 'text' || part.type === 'refusal') this.#text += part.text;
    else if (part.type === 'reasoning') this.#think(part);
    else if (part.type === 'tool-call') {
      this.#calls.set(index, { id: part.id, name: part.name, arguments: part.arguments });
    }
  }

  #think({ text = '', summary = '' }: { readonly text?: string; readonly summary?: string }): void {
    this.#reasoning += text + summary;
  }

  #argue(part: number, text: string): void {
    const call = this.#calls.get(part);
    if (call !== undefined) call.arguments += text;
  }
}
