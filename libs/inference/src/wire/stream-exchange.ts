import type { IncomingHttpHeaders } from 'node:http';
import { GatheredPieces } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { Dispatcher } from 'undici';
import { callAbandoned } from '../model/cancellation';
import type { UpstreamStream } from './upstream-stream';
import type { ReplyHolder } from './reply-budget';
import { Exchange, LARGEST_ERROR_BODY, type ExchangeOptions, type UpstreamReply } from './upstream-exchange';

/** Most bytes that may wait to be read; above that, reading from the upstream stops until they are read. */
const LARGEST_BACKLOG = 256 * 1024;
/** What a reader keeps of earlier reads counts from here on; nearly all events are shorter. */
const LARGEST_UNCOUNTED = 64 * 1024;
const NOTHING = Buffer.alloc(0);
/** How long an upstream may take to end a body that is no longer needed. */
const DISCARD_MS = 1_000;

/** Passes on the body of a 2xx answer as it arrives; collects answers with another status as a whole. */
export class StreamExchange extends Exchange implements UpstreamStream, ReplyHolder {
  countedBytes = 0;
  isPaused = false;
  /** Resolves with the head of a 2xx answer, or with the whole of any other answer. */
  readonly opened: Promise<UpstreamReply | StreamExchange>;
  /** The pieces of an answer that is collected as a whole. */
  readonly #gathered = new GatheredPieces();
  #resolve!: (opened: UpstreamReply | StreamExchange) => void;
  #reject!: (error: AppError) => void;
  readonly #backlog = new GatheredPieces();
  #wake: (() => void) | null = null;
  #isDiscarding = false;
  #discardTimer: NodeJS.Timeout | undefined;

  constructor(options: ExchangeOptions) {
    super(options);
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  override onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    super.onResponseStart(controller, status, headers);
    if (this.isSuccess) this.#resolve(this);
  }

  override onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return;
    if (!this.isSuccess) {
      this.#gathered.add(chunk);
      if (this.#gathered.bytes > LARGEST_ERROR_BODY) this.#finishReply(true);
      return;
    }
    if (this.#isDiscarding) return;
    this.#backlog.add(chunk);
    if (this.leftover?.passes(chunk.length) === false) return this.fail(callAbandoned());
    if (this.#backlog.bytes >= LARGEST_BACKLOG) controller.pause();
    this.#wakeReader();
  }

  override onResponseEnd(): void {
    if (this.isOver) return;
    if (this.isSuccess) {
      this.release();
      this.#wakeReader();
    } else {
      this.#finishReply(false);
    }
  }

  async read(keptBytes = 0): Promise<Buffer | null> {
    this.#count(keptBytes > LARGEST_UNCOUNTED ? keptBytes : 0);
    if (!this.isOver && (this.isPaused || this.#backlog.bytes === 0)) await this.#ready();
    return this.#backlog.bytes === 0 ? this.#nothing() : this.#taken();
  }

  /** Waits for room and for data. Ends early if the exchange does, or when the caller disconnects. */
  async #ready(): Promise<void> {
    if (this.#hasToWait) {
      while (this.#hasToWait) await this.#woken();
      if (this.leftover !== null) return;
    }
    if (this.#backlog.bytes === 0 && !this.isOver) await this.#woken();
  }

  /** A read for a caller who has disconnected has bounds of its own. */
  get #hasToWait(): boolean {
    return this.isPaused && !this.isOver && this.leftover === null;
  }

  #nothing(): Buffer | null {
    if (this.failure) throw this.failure;
    return this.isOver ? null : NOTHING;
  }

  /** Taken first, because `resume` returns data that has arrived and pauses again if the backlog is long. */
  #taken(): Buffer {
    const bytes = this.#backlog.take();
    if (this.controller?.paused) this.controller.resume();
    return bytes;
  }

  /** Called when there is room for more of what the reader keeps. */
  resume(): void {
    this.#wakeReader();
  }

  /** True also while the reader of the stream is too slow for more data, or all readers together keep too much. */
  protected override get isHeldBack(): boolean {
    return super.isHeldBack || this.isPaused || this.controller?.paused === true;
  }

  leave(): number {
    const read = this.goOnAlone();
    this.#wakeReader();
    return read?.mostTokens ?? 0;
  }

  cancel(): void {
    if (this.isOver) return;
    this.#backlog.clear();
    this.stop();
    this.#wakeReader();
  }

  discard(): void {
    if (this.isOver) return;
    this.#isDiscarding = true;
    this.#backlog.clear();
    if (this.controller?.paused) this.controller.resume();
    this.#discardTimer = setTimeout(() => this.cancel(), DISCARD_MS).unref();
  }

  protected override release(): void {
    clearTimeout(this.#discardTimer);
    this.options.budget?.giveBack(this);
    super.release();
  }

  #count(keptBytes: number): void {
    const { budget } = this.options;
    if (keptBytes === this.countedBytes || this.isOver || !budget) return;
    if (keptBytes < this.countedBytes) budget.giveBack(this);
    if (keptBytes > 0) budget.take(this, keptBytes - this.countedBytes);
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #finishReply(isEarly: boolean): void {
    this.#resolve(this.replyOf(this.#gathered.take()));
    if (isEarly) this.stop();
    else this.release();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = null;
  }

  protected override onFailed(error: AppError): void {
    this.#reject(error);
    this.#wakeReader();
  }
}
