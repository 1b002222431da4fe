import { isObject, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerEvent } from '../../model/canonical-answer';
import { googleErrorInside } from './error';
import { brokenAnswer } from '../../wire/upstream-error';
import type { Endpoint, Provider } from '../../catalogue/catalogue';
import type { StreamReader, UpstreamEvent } from '../translation';
import { parseEventData } from '../upstream-event';
import { readPieces } from './content-reader';
import { readBlock, readCreation } from './answer-reader';
import { finishReasonOf, nativeReasonOf } from './stop-reason';
import { readLogprobs } from './logprobs';
import { PartSequence } from './part-sequence';
import { hasSources } from './citations';
import { readServiceTier, readUsage } from './usage';

/** How the answer ended, as far as chunks have reported it. */
interface Ending {
  readonly native: string;
  /** The upstream refused the prompt: there is no answer. */
  readonly isBlocked: boolean;
  readonly words: string | undefined;
}

/**
 * Reads the first candidate of a stream of `GenerateContentResponse` chunks. There is no last event, and some
 * models send a finish reason in every chunk, so the answer ends with the body.
 */
export class GenerateContentStreamReader implements StreamReader {
  readonly #provider: Provider;
  readonly #parts = new PartSequence();
  #hasStarted = false;
  #isOver = false;
  #ending: Ending | null = null;
  #serviceTier: { readonly serviceTier?: string } = {};

  constructor({ provider }: Endpoint) {
    this.#provider = provider;
  }

  read({ data }: UpstreamEvent): AnswerEvent[] {
    if (this.#isOver) return [];
    const chunk = parseEventData(data, this.#provider);
    if (isObject(chunk['error'])) throw googleErrorInside(this.#provider, chunk);
    const events = this.#start(chunk);
    this.#readBlock(chunk);
    const candidate = objectsOf(chunk['candidates']).find(({ index }) => index === undefined || index === 0);
    if (candidate !== undefined) this.#readCandidate(candidate);
    events.push(...this.#parts.take());
    const usage = readUsage(chunk['usageMetadata']);
    if (usage !== null) events.push({ type: 'usage', ...usage });
    this.#serviceTier = { ...this.#serviceTier, ...readServiceTier(chunk['usageMetadata']) };
    return events;
  }

  end(): AnswerEvent[] {
    if (this.#isOver) return [];
    const ending = this.#ending;
    if (ending === null) throw brokenAnswer(this.#provider, 'the stream was cut');
    this.#isOver = true;
    this.#parts.endAll();
    const { native, isBlocked, words } = ending;
    const finishReason = isBlocked ? 'content_filter' : finishReasonOf(native, this.#parts.hasCalls);
    if (finishReason === 'content_filter' && words && !this.#parts.hasContent) this.#parts.refusal(words);
    return [...this.#parts.take(), { type: 'finish', finishReason, nativeFinishReason: native, ...this.#serviceTier }];
  }

  #start(chunk: JsonObject): AnswerEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    return [{ type: 'start', upstreamId: stringOf(chunk['responseId']) ?? null, createdAt: readCreation(chunk) }];
  }

  #readBlock(chunk: JsonObject): void {
    const blocked = readBlock(chunk);
    if (blocked === null) return;
    const [refusal] = blocked.parts;
    const words = refusal?.type === 'refusal' ? refusal.text : undefined;
    this.#ending = { native: blocked.nativeFinishReason!, isBlocked: true, words };
  }

  #readCandidate(candidate: JsonObject): void {
    let logprobs = readLogprobs(candidate);
    for (const piece of readPieces(candidate)) {
      this.#parts.add(piece, logprobs);
      // The log probabilities belong to the whole chunk and are sent with its first text.
      if (piece.kind === 'text' && piece.text !== '') logprobs = undefined;
    }
    if (hasSources(candidate)) this.#parts.sources(candidate);
    const native = nativeReasonOf(candidate);
    if (native === null) return;
    this.#ending = { native, isBlocked: false, words: stringOf(candidate['finishMessage']) };
  }
}
