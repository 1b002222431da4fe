import { AppError, toEnvelope } from '@libs/errors';
import type { AnswerStream, StreamOutcome, TerminalState } from '../model/answer-stream';
import { emptyUsage } from '../model/usage';
import type { UpstreamStream } from '../providers/provider';
import { brokenAnswer, errorInside, readComplaintAt } from '../providers/upstream-error';
import { ownMembers, priceOf } from './billing';
import { billChat, type Bill } from './chat-billing';
import { chatEdits, readChatObject, type ChatObject } from './chat-object';
import type { AnswerContext } from './dialect';
import { EventSplitter, EventTooLarge } from './event-splitter';
import { JsonCursor } from './json-cursor';
import { MalformedJson } from './json-grammar';
import { ChunkHead } from './chunk-head';
import { applyEdits, findMember, type ByteEdit } from './json-members';
import { usageEdits, usageText } from './openai-usage';

const LARGEST_EVENT = 8 * 1024 * 1024;
const EVENT_START = Buffer.from('data: ');
const EVENT_END = Buffer.from('\n\n');
/** How often the common head of the chunks may change before it is not worth looking for. */
const MOST_HEADS = 4;
const NOTHING: Readonly<Record<string, string>> = {};
const DONE_WORD = Buffer.from('[DONE]');
const DONE_EVENT = Buffer.from('data: [DONE]\n\n');

/**
 * Rewrites a stream of `chat.completion.chunk` events.
 *
 * Every event passes as the bytes it came in, except for `id`, `model`, `provider`, the finish reasons and
 * the cost inside `usage`. However the upstream behaves, the caller sees exactly one end: `[DONE]` after the
 * usage, or an event with `error` and then `[DONE]`. A body that just stops counts as whole only if a finish
 * reason was seen. Whoever leaves early is charged for what was sent, and nobody pays for nothing.
 */
export class OpenAiChatStream implements AnswerStream, AsyncIterator<Buffer> {
  readonly outcome: Promise<StreamOutcome>;
  readonly #upstream: UpstreamStream;
  readonly #context: AnswerContext;
  /** Our `id`, `model` and `provider` as JSON text. */
  readonly #own: Readonly<Record<string, string>>;
  readonly #splitter: EventSplitter;
  #settle!: (outcome: StreamOutcome) => void;
  #state: TerminalState | null = null;
  #output: Buffer[] = [];
  #head = ChunkHead.none;
  #headsLeft = MOST_HEADS;
  #hasEvents = false;
  #isDone = false;
  #created = '';
  #contentBytes = 0;
  #bill: Bill | null = null;
  #last: Pick<ChatObject, 'finishReason' | 'nativeFinishReason'> = { finishReason: null, nativeFinishReason: null };
  #upstreamId: string | null = null;

  private constructor(upstream: UpstreamStream, context: AnswerContext) {
    this.#upstream = upstream;
    this.#context = context;
    this.#own = ownMembers(context);
    this.#splitter = new EventSplitter(LARGEST_EVENT, (data) => this.#onEvent(data));
    this.outcome = new Promise((resolve) => (this.#settle = resolve));
  }

  /** Resolves at the first valid event; throws AppError when there is none. */
  static async open(upstream: UpstreamStream, context: AnswerContext): Promise<OpenAiChatStream> {
    const stream = new OpenAiChatStream(upstream, context);
    try {
      while (!stream.#hasEvents) await stream.#advance();
      return stream;
    } catch (thrown) {
      upstream.cancel();
      throw stream.#errorOf(thrown);
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return this;
  }

  async next(): Promise<IteratorResult<Buffer>> {
    while (this.#output.length === 0 && this.#state === null) {
      try {
        await this.#advance();
      } catch (thrown) {
        this.#fail(thrown);
      }
    }
    const output = this.#output;
    if (output.length === 0) return { done: true, value: undefined };
    this.#output = [];
    return { done: false, value: output.length === 1 ? output[0]! : Buffer.concat(output) };
  }

  async return(): Promise<IteratorResult<Buffer>> {
    this.cancel();
    return { done: true, value: undefined };
  }

  cancel(): void {
    this.#output = [];
    this.#end('cancelled', null);
  }

  /** Reads once from the upstream and digests what came. */
  async #advance(): Promise<void> {
    const chunk = await this.#upstream.read();
    if (this.#state !== null) return;
    if (chunk !== null) {
      this.#splitter.push(chunk);
    } else {
      this.#splitter.end();
      if (!this.#hasEvents) throw brokenAnswer(this.#provider, 'the stream ended before its first event');
      if (!this.#isDone && this.#last.finishReason === null) throw brokenAnswer(this.#provider, 'the stream was cut');
      this.#isDone = true;
    }
    if (this.#isDone) this.#complete();
  }

  #onEvent(data: Buffer): void {
    if (this.#isDone) return;
    if (data.equals(DONE_WORD)) {
      if (!this.#hasEvents) throw brokenAnswer(this.#provider, 'the stream is empty');
      this.#isDone = true;
      return;
    }
    const { chat, from } = this.#read(data);
    if (chat.error !== null) {
      throw errorInside(this.#provider, readComplaintAt(new JsonCursor(data, chat.error.valueStart), 0));
    }
    if (chat.choiceCount === null && chat.usage === null) return;
    this.#note(chat);
    const prefix = from === 0 ? EVENT_START : this.#head.rewritten;
    const edits = chatEdits(chat, from === 0 ? this.#own : NOTHING, this.#usageEdits(chat));
    this.#output.push(applyEdits(data, edits, { prefix, suffix: EVENT_END, from }));
    if (from === 0) this.#learn(chat);
  }

  /** Reads a chunk; only from its choices on where it begins like those before. */
  #read(data: Buffer): { chat: ChatObject; from: number } {
    const from = this.#head.matched(data);
    const chat = readChatObject(data, from);
    const isRenamedLater = from > 0 && chat.members.some(({ key }) => Object.hasOwn(this.#own, key));
    return isRenamedLater ? { chat: readChatObject(data), from: 0 } : { chat, from };
  }

  #learn(chat: ChatObject): void {
    if (this.#headsLeft === 0) return;
    this.#headsLeft -= 1;
    this.#head = ChunkHead.learn(chat, this.#own, EVENT_START) ?? ChunkHead.none;
  }

  #note(chat: ChatObject): void {
    if (!this.#hasEvents) {
      const created = findMember(chat, 'created');
      this.#created = created ? chat.bytes.toString('utf8', created.valueStart, created.valueEnd) : '';
      this.#upstreamId = chat.id;
      this.#hasEvents = true;
    }
    this.#contentBytes += chat.contentBytes;
    if (chat.finishReason === null) return;
    const { finishReason, nativeFinishReason } = chat;
    this.#last = { finishReason, nativeFinishReason };
  }

  #usageEdits(chat: ChatObject): readonly ByteEdit[] {
    if (chat.usage === null) return [];
    this.#bill = billChat(chat.usage, this.#contentBytes, this.#context, 'estimated');
    return usageEdits(chat.usage, this.#bill.usage, this.#bill.cost, true);
  }

  /** The upstream is through: the usage, if it sent none, and the last word. */
  #complete(): void {
    if (this.#state !== null) return;
    if (this.#bill === null) {
      this.#bill = billChat(null, this.#contentBytes, this.#context, 'estimated');
      this.#output.push(this.#ownEvent(`"choices":[],"usage":${usageText(this.#bill.usage, this.#bill.cost, true)}`));
    }
    this.#output.push(DONE_EVENT);
    const { finishReason } = this.#last;
    const isCut = finishReason === 'length' || finishReason === 'content_filter';
    if (finishReason === 'error') this.#end('failed', brokenAnswer(this.#provider, 'the model stopped with an error'));
    else this.#end(isCut ? 'incomplete' : 'completed', null);
  }

  #fail(thrown: unknown): void {
    if (this.#state !== null) return;
    const error = this.#errorOf(thrown);
    if (error.code === 'request_timeout') return this.#end('cancelled', null);
    const { error: shown } = toEnvelope(error);
    const { usage, cost } = this.#partialBill();
    this.#output.push(
      this.#ownEvent(
        `"error":${JSON.stringify(shown)},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error",` +
          `"native_finish_reason":null}],"usage":${usageText(usage, cost, true)}`,
      ),
      DONE_EVENT,
    );
    this.#end('failed', error);
  }

  #errorOf(thrown: unknown): AppError {
    if (thrown instanceof MalformedJson) return brokenAnswer(this.#provider, 'an event is not JSON', thrown);
    if (thrown instanceof EventTooLarge) return brokenAnswer(this.#provider, thrown.message, thrown);
    return AppError.from(thrown);
  }

  #end(state: TerminalState, error: AppError | null): void {
    if (this.#state !== null) return;
    this.#state = state;
    if (this.#isDone) this.#upstream.discard();
    else this.#upstream.cancel();
    const isWhole = state === 'completed' || state === 'incomplete';
    const { usage, cost } = isWhole && this.#bill !== null ? this.#bill : this.#partialBill();
    const { finishReason, nativeFinishReason } = this.#last;
    this.#settle({ state, usage, cost, finishReason, nativeFinishReason, upstreamId: this.#upstreamId, error });
  }

  /** What a stream that broke off has used so far: the last report, else an estimate, else nothing at all. */
  #partialBill(): Bill {
    if (this.#bill !== null) return { ...this.#bill, usage: { ...this.#bill.usage, provenance: 'partial' } };
    if (this.#contentBytes > 0) return billChat(null, this.#contentBytes, this.#context, 'partial');
    const usage = emptyUsage('partial');
    return { usage, cost: priceOf(usage, this.#context) };
  }

  /** An event of our own making, with the members that every chunk has. */
  #ownEvent(members: string): Buffer {
    const { id, model, provider } = this.#own;
    const created = this.#created || String(Math.floor(Date.now() / 1_000));
    return Buffer.from(
      `data: {"id":${id},"object":"chat.completion.chunk","created":${created},"model":${model},` +
        `"provider":${provider},${members}}\n\n`,
    );
  }

  get #provider() {
    return this.#context.endpoint.provider;
  }
}
