import { applyEdits, findMember, joinEdits, type ByteEdit } from '@libs/json';
import type { AppError } from '@libs/errors';
import { DONE_FRAME, EVENT_END, type AnswerFrame } from '../../model/answer-frame';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { errorInside } from '../../wire/upstream-error';
import { StreamMeter } from '../answer-billing';
import { ownMembers } from '../billing';
import { chatChunk, chunkEvent, debugChunk, failureChunk, usageChunk } from './stream-events';
import { chatEdits, readChatObject, type ChatObject } from './relayed-answer';
import { complaintInChunk } from './chunk-complaint';
import { ChunkHead, nullNames } from './chunk-head';
import { ExecutedTools } from './executed-tools';
import type { AnswerContext } from '../dialect';
import { hidesThoughts } from './hidden-thoughts';
import { NumberedCalls } from './numbered-calls';
import { usageEdits } from '../openai-usage';
import type { ReportedUsage } from '../reported-counts';
import { mostToolUnits, orNone, scannedToolUnits } from '../reported-tools';
import { RelayedStream } from '../relayed-stream';
import type { Bill } from '../translation';
import type { FinishReason } from '../../model/finish-reason';
import { unixSeconds } from '../../model/unix-seconds';

const EVENT_START = Buffer.from('data: ');
/** Number of changes of the common head after which the stream no longer looks for one. */
const MOST_HEADS = 4;
const NOTHING: Readonly<Record<string, string>> = {};
const DONE_WORD = Buffer.from('[DONE]');

/**
 * Rewrites a stream of `chat.completion.chunk` events.
 *
 * Every event keeps the upstream's bytes, except for `id`, `model`, `provider`, the finish reasons, the cost inside
 * `usage`, a usage or fingerprint of null, and what tool calls lack. Whatever the upstream does, the caller sees exactly one end: `[DONE]`
 * after the usage, or an event with `error` and then `[DONE]`. A stream counts as whole only if a finish reason was
 * seen. A caller that disconnects is charged for the work so far; a stream that breaks off without output is
 * free.
 */
export class OpenAiChatStream extends RelayedStream<AnswerFrame> {
  /** Our `id`, `model` and `provider` as JSON text. */
  readonly #own: Readonly<Record<string, string>>;
  readonly #meter: StreamMeter;
  readonly #hidesThoughts: boolean;
  readonly #ran = new ExecutedTools();
  readonly #calls = new NumberedCalls((reason) => {
    throw this.broken(reason);
  });
  #head = ChunkHead.none;
  #headsLeft = MOST_HEADS;
  #created = '';
  /** The bill in the last chunk with a usage that was passed on to the caller. */
  #shown: Bill | null = null;

  private constructor(upstream: UpstreamStream, context: AnswerContext) {
    super(upstream, context);
    this.#own = ownMembers(context);
    this.#meter = new StreamMeter(context);
    this.#hidesThoughts = hidesThoughts(context.requestBody);
  }

  /** Resolves at the first valid event; throws AppError if there is none. */
  static open(upstream: UpstreamStream, context: AnswerContext): Promise<OpenAiChatStream> {
    return new OpenAiChatStream(upstream, context).opened();
  }

  protected override onEvent(data: Buffer, name: string | null): void {
    if (data.equals(DONE_WORD)) return this.#onDone();
    const { chat, from } = this.#read(data);
    const complaint = complaintInChunk(chat, name);
    if (complaint !== null) {
      if (chat.reported !== null) this.#report(chat.reported);
      throw errorInside(this.context.endpoint.provider, complaint);
    }
    if (chat.choiceCount === null && chat.usage === null) return;
    this.#note(chat);
    const usageEdits = this.#usageEdits(chat);
    if (this.isLeft) return;
    const prefix = from === 0 ? EVENT_START : this.#head.rewritten;
    const members = { set: from === 0 ? this.#own : NOTHING, remove: nullNames(chat) };
    const edits = chatEdits(chat, members, joinEdits(this.#calls.editsOf(data), usageEdits));
    const bytes = applyEdits(data, edits, { prefix, suffix: EVENT_END, from });
    this.output.push({ bytes, event: chunkEvent(usageEdits.length > 0) });
    if (from === 0) this.#learn(chat);
  }

  /** Relays write `[DONE]` also after an answer that was cut, so the reason is what shows that it is whole. */
  #onDone(): void {
    if (this.isCommitted && this.stop.finishReason === null) throw this.broken('the stream ended without a reason');
    this.isDone = true;
  }

  protected override onEnd(): void {
    if (!this.isCommitted) throw this.broken('the stream ended before its first event');
    if (this.stop.finishReason === null) throw this.broken('the stream was cut');
  }

  /** Reads a chunk; starts at its choices if its head equals that of earlier chunks. */
  #read(data: Buffer): { chat: ChatObject; from: number } {
    const from = this.#head.matched(data);
    const hidesThoughts = this.#hidesThoughts;
    const chat = readChatObject(data, { from, hidesThoughts, text: this.#meter.text, ran: this.#ran });
    const isRenamedLater = from > 0 && chat.members.some(({ key }) => Object.hasOwn(this.#own, key));
    return isRenamedLater ? { chat: readChatObject(data, { hidesThoughts }), from: 0 } : { chat, from };
  }

  #learn(chat: ChatObject): void {
    if (this.#headsLeft === 0) return;
    this.#headsLeft -= 1;
    this.#head = ChunkHead.learn(chat, this.#own, EVENT_START) ?? ChunkHead.none;
  }

  #note(chat: ChatObject): void {
    if (!this.isCommitted) {
      const created = findMember(chat, 'created');
      this.#created = created ? chat.bytes.toString('utf8', created.valueStart, created.valueEnd) : '';
      this.upstreamId = chat.id;
      this.isCommitted = true;
      const { debug } = this.context;
      debug?.reached('first_token_received');
      for (const call of debug?.take() ?? []) this.output.push(this.#chunk(debugChunk(call)));
    }
    if (chat.pictures + chat.audioBytes > 0) this.#meter.countMedia(chat.pictures, chat.audioBytes);
    if (this.#ran.hasUses) this.#meter.used(this.#ran.units);
    this.#meter.served(chat.serviceTier);
    if (chat.finishReason !== null) this.#finish(chat.finishReason, chat.nativeFinishReason);
  }

  #finish(finishReason: FinishReason, nativeFinishReason: string | null): void {
    if (finishReason === 'error') throw this.broken('the answer ended with an error');
    this.stop = { finishReason, nativeFinishReason };
  }

  #usageEdits(chat: ChatObject): readonly ByteEdit[] {
    if (chat.reported === null) return [];
    const bill = this.#report(chat.reported);
    if (chat.usage === null) return [];
    this.#shown = bill;
    return usageEdits(chat.usage, bill.usage, bill.cost, true);
  }

  #report({ counts, object }: ReportedUsage): Bill {
    return this.#meter.report(counts, orNone(mostToolUnits(this.#ran.units, scannedToolUnits(object))));
  }

  protected override wholeBill(): Bill {
    return this.#meter.whole();
  }

  protected override partialBill(): Bill {
    return this.#meter.partial();
  }

  protected override leftBill(isWhole: boolean): Bill {
    return this.#meter.left(isWhole);
  }

  protected override get writtenUnits(): number {
    return this.#meter.text.units;
  }

  /** Returns `[DONE]`, after a usage chunk unless the upstream's last one shows this bill. */
  protected override finalOutput(bill: Bill): readonly AnswerFrame[] {
    return this.#shown === bill ? [DONE_FRAME] : [this.#chunk(usageChunk(bill), true), DONE_FRAME];
  }

  protected override failureOutput(error: AppError, bill: Bill): readonly AnswerFrame[] {
    return [this.#chunk(failureChunk(error, bill), true), DONE_FRAME];
  }

  /** An event of our own making. */
  #chunk(members: string, isBilled = false): AnswerFrame {
    return chatChunk(this.#own, this.#created || String(unixSeconds()), members, isBilled);
  }
}
