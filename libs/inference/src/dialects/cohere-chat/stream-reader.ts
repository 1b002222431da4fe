import { numberOf, objectOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerEvent } from '../../model/canonical-answer';
import type { AppError } from '@libs/errors';
import { brokenAnswer, errorInside, readComplaint } from '../../wire/upstream-error';
import type { Provider } from '../../catalogue/catalogue';
import { PartSequence } from '../openai-chat/part-sequence';
import type { StreamReader, UpstreamEvent } from '../translation';
import { parseEventData } from '../upstream-event';
import { CharacterPlaces } from './character-places';
import { placeCitation, readCitation } from './citations';
import { readLogprob, toArguments } from './answer-reader';
import { toFinish } from './stop-reason';
import { readUsage } from './usage';

const DONE_WORD = '[DONE]';

/** Text that the model wrote: one of the contents, or the plan of its tool calls. */
interface WrittenText {
  /** Offset at which this text begins in the text of the whole answer. */
  readonly start: number;
  readonly places: CharacterPlaces;
  text: string;
}

/** Turns the events of one streamed answer into events of an answer. */
export class CohereStreamReader implements StreamReader {
  readonly #provider: Provider;
  readonly #parts: PartSequence;
  /** Texts by the upstream's index of the content; null is the key of the plan. */
  readonly #texts = new Map<number | null, WrittenText>();
  #textLength = 0;
  /** True if the open part is text: annotations can only be added to an open text. */
  #isWriting = false;
  /** Arguments of the open call while they may still turn out to be `null`; null once they cannot. */
  #callArguments: string | null = '';
  #hasStarted = false;
  #isOver = false;

  constructor(provider: Provider) {
    this.#provider = provider;
    this.#parts = new PartSequence((reason) => {
      throw brokenAnswer(provider, reason);
    });
  }

  read({ name, data }: UpstreamEvent): AnswerEvent[] {
    if (this.#isOver || data === DONE_WORD) return [];
    const event = parseEventData(data, this.#provider);
    const type = stringOf(event['type']) ?? name;
    if (type === null || type === 'error') throw errorInside(this.#provider, readComplaint(Buffer.from(data)));
    const started = this.#start(event);
    if (type === 'message-end') return [...started, ...this.#finish(objectOf(event['delta']))];
    this.#readMessage(type, event, objectOf(objectOf(event['delta'])['message']));
    return [...started, ...this.#parts.take()];
  }

  end(): AnswerEvent[] {
    if (this.#isOver) return [];
    throw brokenAnswer(this.#provider, 'the stream was cut');
  }

  #start(event: JsonObject): AnswerEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    return [{ type: 'start', upstreamId: stringOf(event['id']) ?? null, createdAt: null }];
  }

  #readMessage(type: string, event: JsonObject, message: JsonObject): void {
    const index = numberOf(event['index']) ?? 0;
    switch (type) {
      case 'content-start':
      case 'content-delta':
        return this.#readContent(index, objectOf(message['content']), objectOf(event['logprobs']));
      case 'tool-plan-delta':
        return this.#write(null, stringOf(message['tool_plan']) ?? '', {});
      case 'tool-call-start':
        this.#callArguments = '';
        return this.#readCall(index, objectOf(message['tool_calls']));
      case 'tool-call-delta':
        return this.#readCall(index, objectOf(message['tool_calls']));
      case 'tool-call-end':
        return this.#endCall(index);
      case 'citation-start':
        return this.#cite(objectOf(message['citations']));
      default:
    }
  }

  #readContent(index: number, content: JsonObject, logprobs: JsonObject): void {
    const thinking = stringOf(content['thinking']);
    if (thinking) {
      this.#isWriting = false;
      this.#parts.thought({ key: null, delta: { text: thinking } });
    }
    this.#write(index, stringOf(content['text']) ?? '', logprobs);
  }

  #write(index: number | null, text: string, item: JsonObject): void {
    const logprobs = readLogprob(item);
    if (text === '' && logprobs.length === 0) return;
    const written = this.#texts.get(index) ?? { start: this.#textLength, places: new CharacterPlaces(), text: '' };
    this.#texts.set(index, written);
    written.text += text;
    this.#textLength += text.length;
    this.#isWriting = true;
    this.#parts.text('text', text, logprobs.length > 0 ? logprobs : undefined);
  }

  #readCall(index: number, call: JsonObject): void {
    const called = objectOf(call['function']);
    this.#isWriting = false;
    this.#parts.call({
      index,
      id: stringOf(call['id']) || null,
      name: stringOf(called['name']) || null,
      text: this.#certain(stringOf(called['arguments']) ?? ''),
    });
  }

  /** Returns the arguments to pass on; an empty text while the arguments so far may still become `null`. */
  #certain(text: string): string {
    if (this.#callArguments === null) return text;
    const whole = this.#callArguments + text;
    this.#callArguments = 'null'.startsWith(whole) ? whole : null;
    return this.#callArguments === null ? whole : '';
  }

  #endCall(index: number): void {
    if (this.#callArguments === null) return;
    this.#parts.call({ index, id: null, name: null, text: toArguments(this.#callArguments) });
    this.#callArguments = null;
  }

  #cite(citation: JsonObject): void {
    const placed = placeCitation(citation);
    if (placed === null || !this.#isWriting) return;
    const written = this.#texts.get(placed.place === 'plan' ? null : (placed.contentIndex ?? this.#lastContent));
    if (written === undefined) return;
    for (const annotation of readCitation(citation, written.text, written.places)) {
      const startIndex = annotation.startIndex + written.start;
      this.#parts.annotation({ ...annotation, startIndex, endIndex: annotation.endIndex + written.start });
    }
  }

  get #lastContent(): number | null {
    return [...this.#texts.keys()].findLast((key) => key !== null) ?? null;
  }

  #finish(delta: JsonObject): AnswerEvent[] {
    this.#isOver = true;
    this.#parts.endAll();
    const usage = readUsage(delta['usage']);
    const native = stringOf(delta['finish_reason']) ?? null;
    const failure = this.#failureIn(delta);
    if (failure !== null && usage === null) throw failure;
    if (failure === null && native === null) throw brokenAnswer(this.#provider, 'the message ended without a reason');
    const ending = failure === null ? { finishReason: toFinish(native) } : { finishReason: 'error' as const, failure };
    return [
      ...this.#parts.take(),
      ...(usage === null ? [] : [{ type: 'usage' as const, usage }]),
      { type: 'finish', ...ending, nativeFinishReason: native },
    ];
  }

  /** Returns the error that the last event reports next to the usage; null if there is none. */
  #failureIn({ error }: JsonObject): AppError | null {
    const message = stringOf(error);
    return message === undefined ? null : errorInside(this.#provider, { message, code: null, status: null });
  }
}
