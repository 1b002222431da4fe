import { MalformedJson } from '@libs/json';
import { AppError } from '@libs/errors';
import type { StreamOf, StreamOutcome, TerminalState } from '../model/answer-stream';
import type { FinishReason } from '../model/finish-reason';
import type { UpstreamStream } from '../wire/upstream-stream';
import { callAbandoned, isAbandoned } from '../model/cancellation';
import { UNITS_PER_TOKEN } from '../model/text-tokens';
import { chargeLeft } from '../model/left-charge';
import { isEventTooDense } from '../wire/dense-answer';
import { denseAnswer, isOversized, oversizedEvent, oversizedStream } from '../wire/oversized-answer';
import { brokenAnswer, isHeldBack, notAnswered } from '../wire/upstream-error';
import type { AnswerContext } from './dialect';
import { eventData } from './event-data';
import { EventSplitter, EventTooLarge } from './event-splitter';
import { unlikelyTokens } from './reserved-prompt';
import type { Bill } from './translation';
import { UnframedBody } from './unframed-body';

const LARGEST_EVENT = 8 * 1024 * 1024;
/** Most bytes of an answer that are kept for its last event, which are as many as a whole answer may have. */
const LARGEST_KEPT = 64 * 1024 * 1024;
/** Kept bytes that do not count: only answers with pictures, and none that a model writes, keep more. */
const LARGEST_UNCOUNTED = 1024 * 1024;

/** Why the model stopped, in our word and in the upstream's. */
export interface Stop {
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
}

/**
 * Base class of all streamed answers: reads the upstream, passes output on and ends exactly once.
 *
 * Until `isCommitted` is set, no output is passed on and a failure throws, so that another endpoint may be tried. From
 * then on the caller sees exactly one end: the result of `finalOutput` or of `failureOutput`. The timers belong to the
 * upstream stream: its `read` throws when one expires.
 *
 * `cancel` means that the caller has disconnected. The stream then reads on without output until the upstream has
 * reported its usage or the bounds of leftover reads are reached, and settles its outcome after that.
 */
export abstract class RelayedStream<Piece> implements StreamOf<Piece>, AsyncIterator<readonly Piece[]> {
  readonly outcome: Promise<StreamOutcome>;
  /** Output that has not been passed to the caller yet. */
  protected output: Piece[] = [];
  /** True if output or a valid event has come from this upstream: no other endpoint is tried any more. */
  protected isCommitted = false;
  /** True if the answer is complete; later events of the upstream are ignored. */
  protected isDone = false;
  protected stop: Stop = { finishReason: null, nativeFinishReason: null };
  protected upstreamId: string | null = null;
  /** True if the caller has disconnected: events are still counted, but there is no output. */
  protected isLeft = false;
  readonly #upstream: UpstreamStream;
  readonly #splitter: EventSplitter;
  readonly #unframed = new UnframedBody();
  #settle!: (outcome: StreamOutcome) => void;
  #state: TerminalState | null = null;
  #bill: Bill | null = null;
  /** A call of `next` is reading. */
  #isReading = false;
  #isReadingOn = false;
  /** Units of content after which a stream whose caller has disconnected is no longer read. */
  #mostUnits = Number.POSITIVE_INFINITY;

  protected constructor(
    upstream: UpstreamStream,
    protected readonly context: AnswerContext,
  ) {
    this.#upstream = upstream;
    this.#splitter = new EventSplitter(LARGEST_EVENT, (data, name) => {
      this.#unframed.drop();
      if (this.isDone) return;
      const line = eventData(data);
      if (isEventTooDense(line)) throw denseAnswer(context.endpoint.provider);
      if (line.length > 0) this.onEvent(line, name);
    });
    this.outcome = new Promise((resolve) => (this.#settle = resolve));
  }

  /**
   * Handles one event of the upstream, whose data is on one line. Throws AppError or MalformedJson if it is invalid.
   */
  protected abstract onEvent(data: Buffer, name: string | null): void;
  /** Handles the end of the upstream's body without an end event. Throws AppError if the answer is not complete. */
  protected abstract onEnd(): void;
  /** The bill of a whole answer. */
  protected abstract wholeBill(): Bill;
  /** Returns the bill of what has been sent so far. */
  protected abstract partialBill(): Bill;
  /**
   * Returns the bill of a stream whose caller has disconnected and whose upstream has not reported its usage. If
   * `isWhole` (the answer may be complete, but cannot be read), the bill is all that the call has reserved.
   */
  protected abstract leftBill(isWhole: boolean): Bill;
  /** Length of what the model has written so far (text, arguments, thoughts), in units (`UNITS_PER_TOKEN`). */
  protected abstract get writtenUnits(): number;
  /** Bytes of earlier events that are kept for the last one, or until their turn. */
  protected get keptBytes(): number {
    return 0;
  }

  /** The end of a whole answer. */
  protected abstract finalOutput(bill: Bill): readonly Piece[];
  /** The end of a broken one. */
  protected abstract failureOutput(error: AppError, bill: Bill): readonly Piece[];

  /** Resolves as soon as the stream is committed; throws AppError if it ends before. */
  protected async opened(): Promise<this> {
    try {
      while (!this.isCommitted) await this.#advance();
      return this;
    } catch (thrown) {
      this.#upstream.cancel();
      const error = this.#errorOf(thrown);
      throw isAbandoned(error) ? chargeLeft(error, { ...this.leftBill(false), upstreamId: this.upstreamId }) : error;
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly Piece[]> {
    return this;
  }

  async next(): Promise<IteratorResult<readonly Piece[]>> {
    this.#isReading = true;
    while (this.output.length === 0 && this.#state === null && !this.isLeft) await this.#step();
    this.#isReading = false;
    if (this.isLeft) void this.#readOn();
    const { output } = this;
    if (output.length === 0 || this.isLeft) return { done: true, value: undefined };
    this.output = [];
    return { done: false, value: output };
  }

  async return(): Promise<IteratorResult<readonly Piece[]>> {
    this.cancel();
    return { done: true, value: undefined };
  }

  cancel(): void {
    this.output = [];
    if (this.isLeft || this.#state !== null) return;
    this.isLeft = true;
    const mostTokens = Math.max(this.#upstream.leave(), unlikelyTokens(this.context));
    this.#mostUnits = this.writtenUnits + mostTokens * UNITS_PER_TOKEN;
    // A pending `next` that waits for the upstream is woken by `leave` and calls `#readOn` itself.
    if (!this.#isReading) void this.#readOn();
  }

  lastWords(error: AppError): readonly Piece[] {
    return this.#state === 'cancelled' && this.#bill !== null ? this.failureOutput(error, this.#bill) : [];
  }

  /**
   * Continues to read after the caller has disconnected, until the upstream ends or `#mostUnits` is reached. The caller
   * pays for it.
   */
  async #readOn(): Promise<void> {
    this.output = [];
    if (this.#isReadingOn) return;
    this.#isReadingOn = true;
    while (this.#state === null) {
      await this.#step();
      this.output = [];
      if (this.writtenUnits > this.#mostUnits) this.#fail(callAbandoned());
    }
  }

  async #step(): Promise<void> {
    try {
      await this.#advance();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Reads once from the upstream and handles the events. */
  async #advance(): Promise<void> {
    const { keptBytes } = this;
    if (keptBytes > LARGEST_KEPT) throw oversizedStream(this.context.endpoint.provider, LARGEST_KEPT);
    const counted = Math.max(0, keptBytes - LARGEST_UNCOUNTED);
    const chunk = await this.#upstream.read(this.#splitter.keptBytes + counted);
    if (this.#state !== null) return;
    if (chunk !== null) {
      this.#unframed.add(chunk);
      this.#splitter.push(chunk);
    } else {
      this.#splitter.end();
      this.#refuseUnframed();
      if (!this.isDone) this.onEnd();
      this.isDone = true;
    }
    if (this.isDone && !this.isCommitted) throw this.broken('the stream is empty');
    if (this.isDone) this.#complete();
  }

  /** Throws the error that the upstream reports if its body is JSON instead of events. */
  #refuseUnframed(): void {
    const body = this.#unframed.take();
    if (body !== null) throw notAnswered(this.context.endpoint.provider, body, 'the stream has no events');
  }

  #complete(): void {
    if (this.#state !== null) return;
    const bill = this.wholeBill();
    if (this.isLeft) {
      return this.#end('cancelled', null, bill.usage.provenance === 'upstream' ? bill : this.leftBill(false));
    }
    this.output.push(...this.finalOutput(bill));
    const { finishReason } = this.stop;
    const isCut = finishReason === 'length' || finishReason === 'content_filter';
    if (finishReason === 'error') this.#end('failed', this.broken('the model stopped with an error'));
    else this.#end(isCut ? 'incomplete' : 'completed', null, bill);
  }

  #fail(thrown: unknown): void {
    if (this.#state !== null) return;
    const error = this.#errorOf(thrown);
    if (this.isLeft) return this.#end('cancelled', null, this.#billOf(error));
    if (error.code === 'request_timeout') return this.#end('cancelled', null);
    const bill = isOversized(error) || isHeldBack(error) ? this.#billOf(error) : this.partialBill();
    this.output.push(...this.failureOutput(error, bill));
    this.#end('failed', error, bill);
  }

  /** Returns the bill of a stream that ended because its caller disconnected, asked for too much or read too slowly. */
  #billOf(error: AppError): Bill {
    return isOversized(error) || isOurs(error) ? this.leftBill(isOversized(error)) : this.partialBill();
  }

  #errorOf(thrown: unknown): AppError {
    if (thrown instanceof MalformedJson) return this.broken('an event is not JSON', thrown);
    if (thrown instanceof EventTooLarge) return oversizedEvent(this.context.endpoint.provider, LARGEST_EVENT);
    return AppError.from(thrown);
  }

  #end(state: TerminalState, error: AppError | null, bill: Bill = this.partialBill()): void {
    if (this.#state !== null) return;
    this.#state = state;
    this.#bill = bill;
    if (this.isDone) this.#upstream.discard();
    else this.#upstream.cancel();
    this.#settle({ state, ...bill, ...this.stop, upstreamId: this.upstreamId, error });
  }

  /** Returns the error for a stream that breaks the protocol. `reason` is for our logs. */
  protected broken(reason: string, cause?: unknown): AppError {
    return brokenAnswer(this.context.endpoint.provider, reason, cause);
  }
}

/** Returns whether the gateway itself ended the call, by a bound or a timeout, while the provider was still working. */
function isOurs({ code }: AppError): boolean {
  return code === 'request_timeout' || code === 'timeout';
}
