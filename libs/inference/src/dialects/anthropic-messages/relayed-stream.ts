import {
  JsonCursor,
  MalformedJson,
  applyEdits,
  findMember,
  memberEdits,
  missingMembers,
  scanMembersAt,
  type ByteEdit,
  type JsonMember,
  objectOf,
} from '@libs/json';
import type { AppError } from '@libs/errors';
import { toFinishReason } from '../../model/finish-reason';
import { ToolCounter, type ProviderTool } from '../../pricing/tool-uses';
import { emptyUsage } from '../../pricing/usage';
import { TextCounter, tokensOfUnits } from '../../model/text-tokens';
import { EVENT_END, type AnswerFrame, type FrameEvent } from '../../model/answer-frame';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { ownMembers, unsaidBill } from '../billing';
import type { AnswerContext } from '../dialect';
import { RelayedStream } from '../relayed-stream';
import { hiddenTokens, reservedTokens } from '../hidden-output';
import { withLateOutput } from '../seen-output';
import type { Bill } from '../translation';
import { billMessage, leftCounts, usageIn } from './billing';
import { messageError } from './error';
import {
  NO_COUNTS,
  countObject,
  messageUsageEdits,
  messageUsageText,
  startUsageEdits,
  type MessageCounts,
} from './usage';
import { mergedCounts, startCounts } from './stream-counts';
import { DELTA_USAGE_MEMBERS, MESSAGE_MEMBERS } from './required-members';
import { readMessageEvent, type MessageEvent } from './relayed-event';
import { errorAt, readUpstreamMessage, valueOf } from './relayed-answer';

const prefixes = new Map<string, Buffer>();
const MOST_PREFIXES = 32;
const STOP_EVENT = eventOf('message_stop', '{"type":"message_stop"}');
/** Usage for a `message_start` event of the upstream that has none. */
const NO_USAGE = JSON.stringify(countObject(emptyUsage('estimated'), 'standard'));
const NO_END = { stop_reason: null, stop_sequence: null, stop_details: null, container: null };
/** Not part of this protocol; upstreams with several APIs end a stream with it. */
const DONE_WORD = Buffer.from('[DONE]');

/** A server-sent event as this API writes it: with its name and its data. */
export function eventOf(name: string, data: string): AnswerFrame {
  const prefix = prefixOf(name);
  return { bytes: Buffer.concat([prefix, Buffer.from(data), EVENT_END]), event: frameEventOf(name, prefix) };
}

/**
 * Rewrites a stream of message events.
 *
 * Every event keeps the upstream's bytes, except for the names in `message_start`, the usage in `message_delta`, and
 * required fields that the upstream left out. No event is passed on before the first content, so that an upstream that
 * opens a message only to report an overload can still be replaced by another. The stream ends with exactly one
 * `message_stop` or one `error` event. Both `message_start` and `message_delta` count the prompt; the last count is
 * billed.
 */
export class MessagesStream extends RelayedStream<AnswerFrame> {
  #hasStart = false;
  #counts: MessageCounts = NO_COUNTS;
  readonly #text = new TextCounter();
  readonly #tools = new ToolCounter();
  #compactions = 0;
  /** Length of the text before the last use of a provider's tool. The model has read that text again. */
  #unitsBeforeUse = 0;
  #bill: Bill | null = null;
  /** Counts and length of the text when `#bill` was made. */
  #billed: { readonly counts: MessageCounts; readonly units: number } = { counts: NO_COUNTS, units: 0 };
  /** The last `delta` of a `message_delta` event, as JSON text. */
  #end: string | null = null;
  #stopEvent = STOP_EVENT;

  /** Resolves at the first content; throws AppError if the stream ends without any. */
  static open(upstream: UpstreamStream, context: AnswerContext): Promise<MessagesStream> {
    return new MessagesStream(upstream, context).opened();
  }

  protected override onEvent(data: Buffer, name: string | null): void {
    if (data.equals(DONE_WORD)) return;
    const event = readMessageEvent(data, name, this.#text);
    if (event.type === 'error') this.#refuse(event);
    if (event.type === 'message_start') return this.#onStart(event);
    if (!this.#hasStart) {
      if (event.type === 'ping') return;
      throw new MalformedJson('an event stands before the message', 0);
    }
    if (event.type === 'message_delta') this.#onDelta(event);
    else if (event.type === 'message_stop') this.#onStop(event);
    else this.#pass(event);
  }

  #refuse(event: MessageEvent): never {
    const error = findMember(event, 'error');
    if (error === undefined) throw this.broken('an error event without an error');
    throw errorAt(this.context.endpoint.provider, event, error);
  }

  /** Passes on the first `message_start` only; the upstream may repeat it. */
  #onStart(event: MessageEvent): void {
    if (this.#hasStart) return;
    const member = findMember(event, 'message');
    const cursor = member && new JsonCursor(event.bytes, member.valueStart);
    if (!cursor?.isObject()) throw new MalformedJson('the message is missing', 0);
    const message = readUpstreamMessage(cursor);
    this.#hasStart = true;
    this.upstreamId = message.id;
    const { counts, object } = usageIn(message);
    this.#counts = startCounts(counts);
    const set = { ...ownMembers(this.context), ...missingMembers(message, MESSAGE_MEMBERS) };
    if (object === null) set['usage'] = NO_USAGE;
    const inner = object === null ? [] : startUsageEdits(object);
    this.#push(event, inOrder([...memberEdits(message, { set }), ...message.contentEdits, ...inner]));
  }

  #pass(event: MessageEvent): void {
    if (event.type !== 'ping') this.isCommitted = true;
    else if (!this.isCommitted) return;
    if (event.tool !== null) this.#countTool(event.tool);
    if (event.isCompaction) this.#compactions += 1;
    if (event.tool !== null || event.isCompaction) this.#unitsBeforeUse = this.#text.units;
    this.#push(event, event.blockEdits);
  }

  #countTool(tool: ProviderTool): void {
    this.#tools.add(tool);
    this.#counts = { ...this.#counts, tools: this.#tools.uses ?? null };
  }

  #onDelta(event: MessageEvent): void {
    this.isCommitted = true;
    const delta = findMember(event, 'delta');
    const value = delta && objectOf(valueOf(event, delta));
    const stopReason = value?.['stop_reason'];
    if (typeof stopReason === 'string' && stopReason !== '') {
      this.stop = { finishReason: toFinishReason(stopReason), nativeFinishReason: stopReason };
    }
    this.#end = JSON.stringify({ ...NO_END, ...value });
    const { counts, object } = usageIn(event);
    this.#counts = mergedCounts(this.#counts, counts);
    const bill = billMessage(this.#counts, this.#text.units, this.context, 'estimated');
    this.#bill = bill;
    this.#billed = { counts: this.#counts, units: this.#text.units };
    const usageEdits =
      object === null
        ? memberEdits(event, { set: { usage: messageUsageText(bill) } })
        : messageUsageEdits(object, bill, DELTA_USAGE_MEMBERS);
    this.#push(event, inOrder([...endEdits(event, delta), ...usageEdits]));
  }

  #onStop(event: MessageEvent): void {
    if (this.stop.finishReason === null) throw this.broken('the message ended without a reason');
    this.isCommitted = true;
    this.isDone = true;
    this.#stopEvent = framed(event, []);
  }

  #push(event: MessageEvent, edits: readonly ByteEdit[]): void {
    if (!this.isLeft) this.output.push(framed(event, edits));
  }

  protected override onEnd(): void {
    if (!this.#hasStart) throw this.broken('the stream ended before its first event');
    if (this.stop.finishReason === null) throw this.broken('the stream was cut');
  }

  protected override wholeBill(): Bill {
    const { text, since } = this.#seenTokens;
    if (this.#bill === null) return this.#billOf(this.#counts, 'estimated');
    const { completionTokens } = this.#bill.usage;
    const added = withLateOutput(completionTokens, text, since) - completionTokens;
    if (added === 0 && this.#counts === this.#billed.counts) return this.#bill;
    return this.#billOf(withOutput(this.#counts, added, text), 'estimated');
  }

  protected override partialBill(): Bill {
    const { text, since } = this.#seenTokens;
    if (this.#bill === null && text === 0) return unsaidBill(this.context);
    return this.#billOf(withOutput(this.#counts, since, text), 'partial');
  }

  /** Tokens of all text so far, and of the text that arrived after the last usage. */
  get #seenTokens(): { readonly text: number; readonly since: number } {
    const { units } = this.#text;
    return { text: tokensOfUnits(units), since: tokensOfUnits(units - this.#billed.units) };
  }

  #billOf(counts: MessageCounts, provenance: 'estimated' | 'partial'): Bill {
    const { usage, cost } = billMessage(counts, this.#text.units, this.context, provenance);
    return { usage: { ...usage, provenance }, cost };
  }

  protected override leftBill(isWhole: boolean): Bill {
    if (this.#bill !== null) return this.partialBill();
    const output = tokensOfUnits(this.#text.units);
    const counts = leftCounts(this.context, this.#counts, {
      output,
      hidden: (isWhole ? reservedTokens : hiddenTokens)(this.context, output),
      outputBeforeUse: tokensOfUnits(this.#unitsBeforeUse),
      compactions: this.#compactions,
    });
    return this.#billOf(counts, 'partial');
  }

  protected override get writtenUnits(): number {
    return this.#text.units;
  }

  protected override finalOutput(bill: Bill): readonly AnswerFrame[] {
    if (this.stop.finishReason === 'error') return this.failureOutput(this.broken('the model stopped with an error'));
    if (this.#end !== null && bill === this.#bill) return [this.#stopEvent];
    const delta = `"delta":${this.#end ?? JSON.stringify(NO_END)}`;
    const event = `{"type":"message_delta",${delta},"usage":${messageUsageText(bill)}}`;
    return [eventOf('message_delta', event), this.#stopEvent];
  }

  protected override failureOutput(error: AppError): readonly AnswerFrame[] {
    return [eventOf('error', JSON.stringify(messageError(error)))];
  }
}

/** Adds output that arrived after the report; without a count of the output, sets all `textTokens`. */
function withOutput(counts: MessageCounts, added: number, textTokens: number): MessageCounts {
  return { ...counts, output: counts.output === null ? textTokens : counts.output + added };
}

/** Returns the edits that add the required fields which an upstream omits at the end of a message. */
function endEdits(event: MessageEvent, delta: JsonMember | undefined): ByteEdit[] {
  const cursor = delta && new JsonCursor(event.bytes, delta.valueStart);
  if (!cursor?.isObject()) return [];
  const end = scanMembersAt(cursor);
  return memberEdits(end, { set: missingMembers(end, MESSAGE_MEMBERS) });
}

function inOrder(edits: ByteEdit[]): readonly ByteEdit[] {
  return edits.sort((a, b) => a.start - b.start);
}

function framed({ type, bytes }: MessageEvent, edits: readonly ByteEdit[]): AnswerFrame {
  const prefix = prefixOf(type);
  return { bytes: applyEdits(bytes, edits, { prefix, suffix: EVENT_END, from: 0 }), event: frameEventOf(type, prefix) };
}

function frameEventOf(type: string, prefix: Buffer): FrameEvent {
  return {
    type,
    dataStart: prefix.length,
    isBilled: type === 'message_delta',
    isEnd: type === 'message_stop' || type === 'error',
  };
}

function prefixOf(type: string): Buffer {
  const known = prefixes.get(type);
  if (known) return known;
  const prefix = Buffer.from(`event: ${type}\ndata: `);
  if (prefixes.size < MOST_PREFIXES) prefixes.set(type, prefix);
  return prefix;
}
