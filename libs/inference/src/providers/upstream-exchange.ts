import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { Dispatcher } from 'undici';
import { callCancelled, type CancelSignal } from '../model/cancellation';
import type { Provider } from '../routing/catalogue';
import type { UpstreamStream } from './provider';
import { BodyCollector } from './body-collector';
import { withoutKey } from './scrub';
import { brokenAnswer } from './upstream-error';

/** A whole answer of any status. */
export interface UpstreamReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ExchangeOptions {
  readonly provider: Provider;
  /** Not yet aborted. */
  readonly signal: CancelSignal;
  readonly totalMs: number;
  /** When the total time begins to run; at once when absent. One that rejects leaves it to `signal` to end the exchange. */
  readonly timesFrom?: Promise<void> | null;
  /** Of an answer that is read whole; a longer one is broken. */
  readonly largestBodyBytes: number;
  /** Taken out of refusals, whose words may be shown to callers. */
  readonly apiKey: Secret | null;
  /** Called once, when the exchange no longer uses a connection. */
  readonly onRelease: () => void;
}

/** Enough for every error that is worth reading; the rest of a longer one is not waited for. */
const LARGEST_ERROR_BODY = 64 * 1024;
/** More than this waiting to be read stops the upstream until it is. */
const LARGEST_BACKLOG = 256 * 1024;
/** How long an upstream may take to end a body of which nothing more is wanted. */
const DISCARD_MS = 1_000;

/**
 * One HTTP exchange with an upstream, as a handler of undici's lowest level: no Node stream stands between
 * the socket and us. The caller's signal and the total time limit both end it at once, wherever it is:
 * waiting for a connection, for the head, or in the middle of the body.
 */
abstract class Exchange implements Dispatcher.DispatchHandler {
  protected controller: Dispatcher.DispatchController | null = null;
  protected failure: AppError | null = null;
  protected isOver = false;
  protected status = 0;
  protected headers: IncomingHttpHeaders = {};
  #timer: NodeJS.Timeout | undefined;
  readonly #onAbort = (): void => this.fail(callCancelled());

  constructor(protected readonly options: ExchangeOptions) {
    const { timesFrom = null } = options;
    if (timesFrom === null) this.#startTimer();
    else timesFrom.then(this.#startTimer, () => undefined);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  readonly #startTimer = (): void => {
    if (this.isOver) return;
    this.#timer = setTimeout(() => this.fail(this.timedOut('total time')), this.options.totalMs);
  };

  /** Sends the request, unless the exchange has come to its end while it waited. */
  start(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions): void {
    if (this.isOver) return;
    try {
      dispatcher.dispatch(request, this);
    } catch (thrown) {
      this.fail(this.#translate(thrown as Error));
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isOver) controller.abort(this.failure ?? callCancelled());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.headers = headers;
  }

  abstract onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void;
  abstract onResponseEnd(): void;

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.fail(this.#translate(error));
  }

  /** Ends the exchange with an error, unless it is over. */
  fail(error: AppError): void {
    if (this.isOver) return;
    this.failure = error;
    this.stop();
    this.onFailed(error);
  }

  protected abstract onFailed(error: AppError): void;

  /** Ends the exchange early and gives the connection back by closing it. */
  protected stop(): void {
    this.release();
    this.controller?.abort(this.failure ?? callCancelled());
  }

  protected release(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.#timer);
    this.options.signal.removeEventListener('abort', this.#onAbort);
    this.options.onRelease();
  }

  protected get isSuccess(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  protected replyOf(body: Buffer): UpstreamReply {
    const { status, headers, isSuccess } = this;
    const { apiKey } = this.options;
    return { status, headers, body: isSuccess || apiKey === null ? body : withoutKey(body, apiKey.reveal()) };
  }

  protected timedOut(limit: string): AppError {
    return new AppError('timeout', 'The provider did not answer in time', {
      metadata: { provider_name: this.options.provider.name },
      internal: `upstream ${this.options.provider.slug}: ${limit} ran out`,
    });
  }

  #translate(error: Error): AppError {
    const code = 'code' in error ? String(error.code) : error.name;
    if (code === 'UND_ERR_HEADERS_TIMEOUT') return this.timedOut('time to the first byte');
    if (code === 'UND_ERR_BODY_TIMEOUT') return this.timedOut('time between two reads');
    const { provider } = this.options;
    return new AppError('provider_unavailable', 'The provider is not available', {
      metadata: { provider_name: provider.name },
      internal: `upstream ${provider.slug}: ${code}`,
      cause: error,
    });
  }
}

/** Gathers the whole answer. */
export class ReplyExchange extends Exchange {
  readonly reply: Promise<UpstreamReply>;
  readonly #collector = new BodyCollector();
  #resolve!: (reply: UpstreamReply) => void;
  #reject!: (error: AppError) => void;

  constructor(options: ExchangeOptions) {
    super(options);
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  override onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return;
    if (this.#collector.add(chunk, this.isSuccess ? this.options.largestBodyBytes : LARGEST_ERROR_BODY)) return;
    if (this.isSuccess) this.fail(brokenAnswer(this.options.provider, 'the body is too long'));
    else this.#finish(true);
  }

  override onResponseEnd(): void {
    if (!this.isOver) this.#finish(false);
  }

  #finish(isEarly: boolean): void {
    this.#resolve(this.replyOf(this.#collector.body));
    if (isEarly) this.stop();
    else this.release();
  }

  protected override onFailed(error: AppError): void {
    this.#reject(error);
  }
}

/** Hands out the body of a 2xx answer as it arrives; answers of other statuses are gathered whole. */
export class StreamExchange extends Exchange implements UpstreamStream {
  /** Settles with the head of a 2xx answer, or with the whole of any other. */
  readonly opened: Promise<UpstreamReply | StreamExchange>;
  readonly #collector = new BodyCollector();
  #resolve!: (opened: UpstreamReply | StreamExchange) => void;
  #reject!: (error: AppError) => void;
  #backlog: Buffer[] = [];
  #backlogBytes = 0;
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
      if (!this.#collector.add(chunk, LARGEST_ERROR_BODY)) this.#finishReply(true);
      return;
    }
    if (this.#isDiscarding) return;
    this.#backlog.push(chunk);
    this.#backlogBytes += chunk.length;
    if (this.#backlogBytes >= LARGEST_BACKLOG) controller.pause();
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

  async read(): Promise<Buffer | null> {
    if (this.#backlog.length === 0 && !this.isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    const chunks = this.#backlog;
    if (chunks.length === 0) {
      if (this.failure) throw this.failure;
      return null;
    }
    this.#backlog = [];
    this.#backlogBytes = 0;
    if (this.controller?.paused) this.controller.resume();
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  }

  cancel(): void {
    if (this.isOver) return;
    this.#backlog = [];
    this.stop();
    this.#wakeReader();
  }

  discard(): void {
    if (this.isOver) return;
    this.#isDiscarding = true;
    this.#backlog = [];
    if (this.controller?.paused) this.controller.resume();
    this.#discardTimer = setTimeout(() => this.cancel(), DISCARD_MS).unref();
  }

  protected override release(): void {
    clearTimeout(this.#discardTimer);
    super.release();
  }

  #finishReply(isEarly: boolean): void {
    this.#resolve(this.replyOf(this.#collector.body));
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
