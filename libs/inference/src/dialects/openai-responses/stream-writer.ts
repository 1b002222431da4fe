import { type JsonObject, parseJson } from '@libs/json';
import type { AppError } from '@libs/errors';
import type { Provider } from '../../catalogue/catalogue';
import { DONE_FRAME, type AnswerFrame } from '../../model/answer-frame';
import type { AnswerEvent } from '../../model/canonical-answer';
import { brokenAnswer } from '../../wire/upstream-error';
import type { AnswerContext } from '../dialect';
import type { StreamDebug } from '../stream-debug';
import type { Bill, StreamWriter } from '../translation';
import type { ItemStatus } from './answer-items';
import { EventSink } from './stream-events';
import { besideResponse, failureOf, type ResponseFailure } from './error';
import type { OpenItem, PartStart } from './open-item';
import { openItem } from './open-items';
import { readEcho, responseObject, type ResponseEcho, type ResponseState } from './response-object';
import { statusOf } from './stop-reason';
import { responseUsageObject } from './usage';
import { unixSeconds } from '../../model/unix-seconds';

/** Of an item or annotation, in addition to its text. */
const OBJECT_BYTES = 500;

type Finish = Extract<AnswerEvent, { type: 'finish' }>;

/**
 * Writes the events of one answer as a streamed response: created, in progress, then each item from its beginning to
 * its end, then one terminal event.
 *
 * An item ends when the next one begins or the answer is over, because only then its status is known. Items may
 * overlap, as their parts do, and keep the position in which they began.
 */
export class ResponsesStreamWriter implements StreamWriter {
  keptBytes = 0;
  readonly #provider: Provider;
  #echo: ResponseEcho;
  readonly #debug: StreamDebug | undefined;
  readonly #sink = new EventSink();
  #hasBegun = false;
  /** Items in the order of their output index. */
  readonly #items: OpenItem[] = [];
  readonly #byPart = new Map<number, OpenItem>();
  #finish: Finish | null = null;

  constructor(context: AnswerContext, request?: JsonObject) {
    this.#provider = context.endpoint.provider;
    this.#debug = context.debug;
    this.#echo = readEcho(context, null, request);
  }

  write(event: AnswerEvent): AnswerFrame[] {
    if (event.type === 'usage') return [];
    this.keptBytes += bytesOf(event);
    if (event.type === 'start') this.#echo = { ...this.#echo, createdAt: event.createdAt ?? this.#echo.createdAt };
    this.#start();
    if (event.type === 'finish') this.#finish = event;
    else if (event.type === 'part-start') this.#beginPart(event);
    else if (event.type !== 'start') this.#byPart.get(event.part)?.take(event);
    return this.#sink.take();
  }

  complete(bill: Bill): AnswerFrame[] {
    const { finishReason = 'stop' } = this.#finish ?? {};
    const { status, incompleteReason } = statusOf(finishReason);
    if (status === 'failed') {
      return this.fail(brokenAnswer(this.#provider, 'the model stopped with an error'), bill);
    }
    const isWhole = status === 'completed';
    return this.#end(isWhole ? 'completed' : 'incomplete', bill, {
      status,
      incompleteReason,
      ...(isWhole && { completedAt: unixSeconds() }),
    });
  }

  fail(error: AppError, bill: Bill): AnswerFrame[] {
    const failure: ResponseFailure = failureOf(error);
    return this.#end('incomplete', bill, { status: failure.status, failure });
  }

  #start(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const response = responseObject(this.#echo, { status: 'in_progress', output: [] });
    for (const call of this.#debug?.take() ?? []) {
      this.#sink.emit('response.debug', { debug: parseJson(Buffer.from(call)) });
    }
    this.#sink.emit('response.created', { response });
    this.#sink.emit('response.in_progress', { response });
  }

  #beginPart(event: PartStart): void {
    const { id, toolNames, wantsSeals } = this.#echo;
    const last = this.#items.at(-1);
    if (last?.takes(event)) return this.#join(last, event);
    last?.announce?.();
    for (const item of this.#items) if (item.isIdle) item.end('completed');
    const item = openItem(event, this.#sink, {
      responseId: id,
      toolNames,
      wantsSeals,
      outputIndex: this.#items.length,
    });
    this.#items.push(item);
    this.#join(item, event);
  }

  #join(item: OpenItem, event: PartStart): void {
    this.#byPart.set(event.part, item);
    item.begin(event);
  }

  #end(lastStatus: ItemStatus, bill: Bill, state: Omit<ResponseState, 'output' | 'usage'>): AnswerFrame[] {
    this.#start();
    const last = this.#items.at(-1);
    const hasFailed = state.failure !== undefined;
    for (const item of this.#items) {
      item.end(hasFailed || item === last || !item.isIdle ? lastStatus : 'completed', hasFailed);
    }
    const response = responseObject(this.#echo, {
      ...state,
      output: this.#items.map((item) => item.written),
      usage: responseUsageObject(bill),
      serviceTier: this.#finish?.serviceTier,
    });
    const { failure } = state;
    this.#sink.emit(`response.${state.status}`, { response, ...(failure && besideResponse(failure)) }, true);
    return [...this.#sink.take(), DONE_FRAME];
  }
}

function bytesOf(event: AnswerEvent): number {
  switch (event.type) {
    case 'text-delta':
      return event.text.length + (event.logprobs?.length ?? 0) * OBJECT_BYTES;
    case 'reasoning-delta':
      return Object.values(event.delta).reduce((bytes, text: string) => bytes + text.length, 0);
    case 'tool-arguments-delta':
      return event.arguments.length;
    case 'part-start':
      return OBJECT_BYTES + (event.kind === 'generated-image' ? event.url.length : 0);
    case 'annotation':
      return OBJECT_BYTES;
    default:
      return 0;
  }
}
