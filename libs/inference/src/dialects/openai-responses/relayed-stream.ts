import { JsonCursor } from '@libs/json';
import type { AppError } from '@libs/errors';
import { DONE_FRAME, type AnswerFrame } from '../../model/answer-frame';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { errorInside, readComplaintAt, type UpstreamComplaint } from '../../wire/upstream-error';
import { StreamMeter } from '../answer-billing';
import type { AnswerContext } from '../dialect';
import { RelayedStream } from '../relayed-stream';
import type { Bill } from '../translation';
import { complaintIn, failureOf, isLengthError, NO_COMPLAINT } from './error';
import { ResponseEventRewriter } from './event-rewriter';
import { readStreamEvent, type StreamEvent } from './relayed-event';
import { ToolItems, endsCompaction } from './tool-items';
import { chargedUnits, unitsOfResponse } from './tool-units';
import { failureMembers, finishOfResponse, type UpstreamResponse } from './relayed-answer';

const DONE_WORD = Buffer.from('[DONE]');
const FAILED = 'response.failed';
const ENDS = new Set(['response.completed', 'response.incomplete', FAILED]);

/** Why a stream ended early, and the upstream's own last event if it sent one. */
interface Breakdown {
  readonly error: AppError;
  readonly nativeCode: string | null;
  readonly event: StreamEvent | null;
}

/**
 * Rewrites the events of a streamed response.
 *
 * Every event keeps the upstream's bytes, except for our fields inside the `response` of the first and the last events,
 * and for sequence numbers that differ from ours. Whatever the upstream does, the caller sees exactly one terminal
 * event and then `[DONE]`. A cut, stalled or broken stream ends in `response.failed` with the response as far as it
 * got; one that reached its token limit ends in `response.incomplete`.
 */
export class OpenAiResponsesStream extends RelayedStream<AnswerFrame> {
  readonly #rewriter: ResponseEventRewriter;
  readonly #meter: StreamMeter;
  #openItems = 0;
  readonly #uses = new ToolItems();
  #last: StreamEvent | null = null;
  #breakdown: Breakdown | null = null;

  private constructor(upstream: UpstreamStream, context: AnswerContext) {
    super(upstream, context);
    this.#rewriter = new ResponseEventRewriter(context);
    this.#meter = new StreamMeter(context);
  }

  /** Resolves at the first valid event; throws AppError if there is none. */
  static open(upstream: UpstreamStream, context: AnswerContext): Promise<OpenAiResponsesStream> {
    return new OpenAiResponsesStream(upstream, context).opened();
  }

  protected override onEvent(data: Buffer): void {
    if (data.equals(DONE_WORD)) throw this.broken('the stream ended without its last event');
    const event = readStreamEvent(data);
    if (event.isError) return this.#onError(readComplaintAt(new JsonCursor(data), 0), null);
    if (event.type === null) return;
    if (ENDS.has(event.type)) return this.#onLastEvent(event);
    this.#count(event);
    if (event.type === 'response.output_item.added') this.#openItems += 1;
    else if (event.type === 'response.output_item.done') this.#openItems -= 1;
    this.#noteWork(event);
    this.#commit(event);
    if (!this.isLeft) this.output.push(this.#rewriter.rewrite(event, null));
  }

  /** Some upstreams end a failed response with the event of a whole one. */
  #onLastEvent(event: StreamEvent): void {
    const complaint = event.response && complaintIn(event.response);
    if (complaint) this.#onError(complaint, event);
    else if (event.type === FAILED) this.#onError(NO_COMPLAINT, event);
    else this.#onLast(event);
  }

  #count({ bytes, delta }: StreamEvent): void {
    if (delta !== null) this.#meter.text.add(bytes, delta.valueStart + 1, delta.valueEnd - 1);
  }

  protected override onEnd(): void {
    throw this.broken(this.isCommitted ? 'the stream was cut' : 'the stream ended before its first event');
  }

  #commit(event: StreamEvent): void {
    this.upstreamId ??= event.response?.id ?? null;
    if (this.isCommitted) return;
    this.isCommitted = true;
    this.output.push(...this.#rewriter.opening());
  }

  #onLast(event: StreamEvent): void {
    const { response } = event;
    if (response === null) throw this.broken('the last event has no response');
    this.#commit(event);
    this.#meter.text.raiseTo(response.contentUnits);
    this.#report(response);
    this.stop = finishOfResponse(response);
    this.#last = event;
    this.isDone = true;
  }

  /** Handles an error that the upstream reports. An error about length becomes an incomplete answer. */
  #onError(complaint: UpstreamComplaint, event: StreamEvent | null): void {
    const error = errorInside(this.context.endpoint.provider, complaint);
    if (!this.isCommitted) throw error;
    if (event?.response) this.#report(event.response);
    this.#breakdown = { error, nativeCode: complaint.code, event: event?.response ? event : null };
    if (!isLengthError(error) || this.#openItems > 0) throw error;
    this.stop = { finishReason: 'length', nativeFinishReason: complaint.code };
    this.isDone = true;
  }

  /** Some upstreams leave finished items out of the last response. */
  #report(response: UpstreamResponse): void {
    this.#meter.served(response.serviceTier);
    if (response.usage === null) return;
    this.#meter.report(response.usage.counts, unitsOfResponse(response, this.#uses.units, this.context));
  }

  #noteWork(event: StreamEvent): void {
    if (this.#uses.note(event)) this.#noteUses();
    if (endsCompaction(event)) this.#meter.compacted();
  }

  #noteUses(): void {
    this.#meter.used(chargedUnits(this.#uses.units, this.context));
  }

  protected override wholeBill(): Bill {
    return this.#breakdown ? this.#meter.partial() : this.#meter.whole();
  }

  protected override partialBill(): Bill {
    return this.#meter.partial();
  }

  protected override leftBill(isWhole: boolean): Bill {
    this.#uses.endAll();
    this.#noteUses();
    return this.#meter.left(isWhole);
  }

  protected override get writtenUnits(): number {
    return this.#meter.text.units;
  }

  protected override get keptBytes(): number {
    return this.#rewriter.keptBytes;
  }

  protected override finalOutput(bill: Bill): readonly AnswerFrame[] {
    if (this.#last !== null) return [this.#rewriter.rewrite(this.#last, bill), DONE_FRAME];
    return this.failureOutput(this.#breakdown?.error ?? this.broken('the stream was cut'), bill);
  }

  protected override failureOutput(error: AppError, bill: Bill): readonly AnswerFrame[] {
    const { nativeCode = null, event = null } = this.#breakdown ?? {};
    const members = failureMembers(failureOf(error, nativeCode, this.#openItems === 0));
    this.stop = this.stop.finishReason === null ? { ...this.stop, finishReason: 'error' } : this.stop;
    const last = event ? this.#rewriter.rewriteFailed(event, members, bill) : this.#rewriter.broken(members, bill);
    return [last, DONE_FRAME];
  }
}
