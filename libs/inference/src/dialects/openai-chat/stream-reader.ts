import { defined, isObject, numberOf, objectOf, objectOrNull, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerEvent, TokenLogprob } from '../../model/canonical-answer';
import type { FinishReason } from '../../model/finish-reason';
import { brokenAnswer, errorInside, readComplaint } from '../../wire/upstream-error';
import type { Provider } from '../../catalogue/catalogue';
import { argumentsOfPiece } from '../free-text-tools';
import type { ToolUnits } from '../reported-tools';
import type { StreamReader, UpstreamEvent } from '../translation';
import { reportsError } from './chunk-complaint';
import { readAnnotations } from './citations';
import { ExecutedTools } from './executed-tools';
import { readLogprobs } from './logprobs';
import { PartSequence } from './part-sequence';
import { readImages, readTier, textOf, usageIn } from './answer-reader';
import { readThoughts } from './reasoning';
import { readChatUnits, readChatUsage } from './usage';
import { readStop } from './stop-reason';

const DONE_WORD = '[DONE]';

/**
 * Reads the first choice of a stream of `chat.completion.chunk` events; translated requests ask for one choice only.
 */
export class ChatStreamReader implements StreamReader {
  readonly #provider: Provider;
  readonly #parts: PartSequence;
  readonly #ran = new ExecutedTools();
  #hasStarted = false;
  #isOver = false;
  #stop: { readonly finishReason: FinishReason; readonly nativeFinishReason: string } | null = null;
  #stopSequence: string | undefined;
  #serviceTier: string | undefined;

  constructor(provider: Provider) {
    this.#provider = provider;
    this.#parts = new PartSequence((reason) => {
      throw brokenAnswer(provider, reason);
    });
  }

  get keptBytes(): number {
    return this.#parts.heldCharacters;
  }

  get uses(): ToolUnits | undefined {
    return this.#ran.hasUses ? this.#ran.units : undefined;
  }

  read({ name, data }: UpstreamEvent): AnswerEvent[] {
    if (this.#isOver) return [];
    if (data === DONE_WORD) return this.#finish();
    const chunk = this.#parse(data);
    if (reportsError(chunk, name)) return this.#fail(chunk, data);
    if (!Array.isArray(chunk['choices']) && !isObject(chunk['usage'])) return [];
    this.#serviceTier = readTier(chunk) ?? this.#serviceTier;
    const choice = objectsOf(chunk['choices']).find(({ index }) => index === undefined || index === 0);
    if (choice !== undefined) this.#readChoice(choice);
    const reported = usageIn(chunk);
    const usage = readChatUsage(reported);
    const report = usage && { type: 'usage' as const, usage, ...readChatUnits(reported, this.#ran) };
    return [...this.#start(chunk), ...this.#parts.take(), ...(report ? [report] : [])];
  }

  end(): AnswerEvent[] {
    return this.#isOver ? [] : this.#finish();
  }

  #parse(data: string): JsonObject {
    try {
      return objectOf(JSON.parse(data));
    } catch (thrown) {
      throw brokenAnswer(this.#provider, 'an event is not JSON', thrown);
    }
  }

  /** Ends a failed stream with the usage that the upstream reports, to charge it. @throws AppError without usage */
  #fail(chunk: JsonObject, data: string): AnswerEvent[] {
    const failure = errorInside(this.#provider, readComplaint(Buffer.from(data)));
    const reported = usageIn(chunk);
    const usage = readChatUsage(reported);
    if (usage === null) throw failure;
    this.#isOver = true;
    return [
      { type: 'usage', usage, ...readChatUnits(reported, this.#ran) },
      { type: 'finish', finishReason: 'error', nativeFinishReason: null, failure },
    ];
  }

  #start(chunk: JsonObject): AnswerEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    const upstreamId = stringOf(chunk['id']) ?? null;
    return [{ type: 'start', upstreamId, createdAt: numberOf(chunk['created']) ?? null }];
  }

  #readChoice(choice: JsonObject): void {
    const delta = objectOf(choice['delta']);
    this.#ran.addAll(0, delta);
    for (const piece of readThoughts(delta)) this.#parts.thought(piece);
    this.#readText(delta, readLogprobs(choice));
    for (const annotation of readAnnotations(delta['annotations'])) this.#parts.annotation(annotation);
    for (const url of readImages(delta)) this.#parts.image(url);
    for (const call of objectsOf(delta['tool_calls'])) this.#readCall(call);
    this.#stopSequence = stringOf(choice['stop_reason']) ?? this.#stopSequence;
    this.#stop = readStop(choice) ?? this.#stop;
  }

  #readText(delta: JsonObject, logprobs: readonly TokenLogprob[] | undefined): void {
    const refusal = stringOf(delta['refusal']);
    if (refusal) return this.#parts.text('refusal', refusal, logprobs);
    const text = textOf(delta['content']);
    if (text !== '' || logprobs !== undefined) this.#parts.text('text', text, logprobs);
  }

  #readCall(call: JsonObject): void {
    const custom = objectOrNull(call['custom']);
    const called = custom ?? objectOf(call['function']);
    const text = called['arguments'];
    const plain = isObject(text) ? JSON.stringify(text) : (stringOf(text) ?? '');
    this.#parts.call({
      index: numberOf(call['index']) ?? null,
      id: stringOf(call['id']) || null,
      name: stringOf(called['name']) || null,
      text: custom === null ? plain : argumentsOfPiece(stringOf(custom['input']) ?? ''),
      isFreeText: custom !== null,
    });
  }

  /** Returns the last events, once the upstream has ended: the usage comes after the finish reason. */
  #finish(): AnswerEvent[] {
    // An end without any content or usage is no answer.
    if (!this.#hasStarted) throw brokenAnswer(this.#provider, 'the stream is empty');
    // Relays write `[DONE]` also after an answer that was cut.
    if (this.#stop === null) throw brokenAnswer(this.#provider, 'the stream ended without a reason');
    this.#isOver = true;
    this.#parts.endAll();
    const finish = {
      type: 'finish' as const,
      ...this.#stop,
      stopSequence: this.#stopSequence,
      serviceTier: this.#serviceTier,
    };
    return [...this.#parts.take(), defined(finish)];
  }
}
