import type { IncomingHttpHeaders } from 'node:http';
import { GatheredPieces, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { Dispatcher } from 'undici';
import { callAbandoned, callCancelled, type CancelSignal } from '../model/cancellation';
import type { LeftoverRead } from '../model/leftover-reads';
import type { Provider } from '../catalogue/catalogue';
import type { ReplyBudget, ReplyHolder } from './reply-budget';
import { headFlaw } from './request-head';
import { withoutKey } from './scrub';
import { isTooDenseToParse } from './dense-answer';
import { denseAnswer, oversizedAnswer } from './oversized-answer';
import { heldBackTooLong } from './upstream-error';
import { isConnectionFault, upstreamFault } from './upstream-fault';

/** A whole answer of any status. */
export interface UpstreamReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ExchangeOptions {
  readonly provider: Provider;
  /** Not yet aborted when the exchange begins. */
  readonly signal: CancelSignal;
  readonly totalMs: number;
  /** Bytes of the request that stay in memory until the answer has ended; 0 if absent. */
  readonly requestBytes?: number;
  /**
   * Resolves when the total time begins to run; absent: it begins at once. If it rejects, `signal` must end the
   * exchange.
   */
  readonly timesFrom?: Promise<void> | null;
  /** Most bytes of an answer that is read as a whole; a longer answer is invalid. */
  readonly largestBodyBytes: number;
  /** Limits all answers that are read as a whole; absent or null if their sum is not limited. */
  readonly budget?: ReplyBudget | null;
  /** Who asked, the narrowest first: the workspace and its organization. */
  readonly holders?: readonly string[];
  /** The key to remove from refusals, whose text may be shown to callers. */
  readonly apiKey: Secret | null;
  /** Called once, when the exchange no longer uses a connection. */
  readonly onRelease: () => void;
}

/** Most bytes of an error body that are read; enough for every useful error. */
export const LARGEST_ERROR_BODY = 64 * 1024;

/**
 * One HTTP exchange with an upstream, implemented as a low-level handler of undici without a Node stream. The caller's
 * signal and the total time limit both end it at once in any state: waiting for a connection, for the head, or inside
 * the body. One exception: if the signal says that the caller has disconnected, a request that the provider has already
 * received continues as a leftover read, to get the usage.
 */
export abstract class Exchange implements Dispatcher.DispatchHandler {
  protected controller: Dispatcher.DispatchController | null = null;
  protected failure: AppError | null = null;
  protected isOver = false;
  protected status = 0;
  protected headers: IncomingHttpHeaders = {};
  /** Set if the caller has disconnected and the exchange continues. */
  protected leftover: LeftoverRead | null = null;
  #timer: NodeJS.Timeout | undefined;
  readonly #onAbort = (): void => void this.goOnAlone();

  readonly holders: readonly string[];

  constructor(protected readonly options: ExchangeOptions) {
    const { timesFrom = null, holders = [] } = options;
    this.holders = holders;
    if (timesFrom === null) this.#startTimer();
    else timesFrom.then(this.#startTimer, () => undefined);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  readonly #startTimer = (): void => {
    if (this.isOver) return;
    this.#timer = setTimeout(() => this.fail(this.#outOfTime()), this.options.totalMs);
  };

  #outOfTime(): AppError {
    return this.isHeldBack ? heldBackTooLong(this.options.provider) : this.timedOut('total time');
  }

  /** True if the exchange waits for something in this process, not for the provider. */
  protected get isHeldBack(): boolean {
    return this.controller === null;
  }

  /** Sends the request, unless the exchange ended while it waited. Never throws. */
  start(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions): void {
    if (this.isOver) return;
    const flaw = headFlaw(request);
    if (flaw !== null) return this.fail(notSent(this.options.provider, flaw));
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
    // A head of status 1xx is not the answer.
    if (status < 200) return;
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
    // The caller has disconnected, and the provider may have worked all the time without reporting its usage.
    this.failure = this.leftover !== null && error.code === 'timeout' ? callAbandoned() : error;
    this.stop();
    this.onFailed(this.failure);
  }

  protected abstract onFailed(error: AppError): void;

  /** Bytes that the answer keeps in memory so far. */
  protected get keptBytes(): number {
    return this.options.requestBytes ?? 0;
  }

  /**
   * Continues the exchange after the caller has disconnected, if that is allowed. Returns null if the exchange has
   * ended.
   */
  protected goOnAlone(): LeftoverRead | null {
    const { signal } = this.options;
    if (this.isOver) return null;
    const terms = signal.leaveTerms ?? null;
    if (terms === null || !this.#isAtWork) {
      this.fail(callCancelled());
      return null;
    }
    this.leftover ??= terms.begin(this.keptBytes, () => this.fail(callAbandoned()));
    if (this.leftover === null) this.fail(callAbandoned());
    else signal.addEventListener('abort', this.#onAbort, { once: true });
    return this.leftover;
  }

  /** True if the provider has received the request and has not refused it. */
  get #isAtWork(): boolean {
    return this.controller !== null && (this.status === 0 || this.isSuccess);
  }

  /** Ends the exchange early and closes its connection. */
  protected stop(): void {
    this.release();
    this.controller?.abort(this.failure ?? callCancelled());
  }

  protected release(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.#timer);
    this.leftover?.close();
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
    const { provider } = this.options;
    return upstreamFault(provider, 'timeout', 'The provider did not answer in time', {
      internal: `upstream ${provider.slug}: ${limit} ran out`,
    });
  }

  /**
   * Maps an error of the HTTP client. Only connection failures are the upstream's; all others are bugs or a shortage
   * here.
   */
  #translate(error: Error): AppError {
    if (error instanceof AppError) return error;
    // Errors of undici's parser have the code undefined.
    const code = String(('code' in error && error.code) || error.name);
    if (code === 'UND_ERR_HEADERS_TIMEOUT') return this.timedOut('time to the first byte');
    if (code === 'UND_ERR_BODY_TIMEOUT') return this.timedOut('time between two reads');
    const { provider } = this.options;
    if (!isConnectionFault(code)) return notSent(provider, code, error);
    return upstreamFault(provider, 'provider_unavailable', 'The provider is not available', {
      internal: `upstream ${provider.slug}: ${code}`,
      cause: error,
    });
  }
}

/**
 * Returns the error for a fault of the gateway. It does not count against a provider, and the caller does not see its
 * details.
 */
function notSent({ slug }: Provider, why: string, cause?: Error): AppError {
  return new AppError('server', 'Internal error', { internal: `a call to ${slug} failed here: ${why}`, cause });
}

/** Gathers the whole answer. */
export class ReplyExchange extends Exchange implements ReplyHolder {
  countedBytes = 0;
  isPaused = false;
  readonly reply: Promise<UpstreamReply>;
  readonly #gathered = new GatheredPieces();
  #resolve!: (reply: UpstreamReply) => void;
  #reject!: (error: AppError) => void;

  constructor(options: ExchangeOptions) {
    super(options);
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  override onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return;
    if (this.leftover?.keeps(chunk.length) === false) return this.fail(callAbandoned());
    this.#gathered.add(chunk);
    if (this.#gathered.bytes <= (this.isSuccess ? this.options.largestBodyBytes : LARGEST_ERROR_BODY)) {
      if (this.options.budget?.take(this, chunk.length) === false) controller.pause();
      return;
    }
    if (this.isSuccess) this.fail(oversizedAnswer(this.options.provider, this.options.largestBodyBytes));
    else this.#finish(true);
  }

  override onResponseEnd(): void {
    if (!this.isOver) this.#finish(false);
  }

  protected override get isHeldBack(): boolean {
    return super.isHeldBack || this.isPaused;
  }

  protected override get keptBytes(): number {
    return super.keptBytes + this.#gathered.bytes;
  }

  resume(): void {
    // Delayed, because undici must not be resumed while it delivers data of another exchange.
    setImmediate(() => this.isOver || this.controller?.resume());
  }

  #finish(isEarly: boolean): void {
    const body = this.#gathered.take();
    if (this.isSuccess && isTooDenseToParse(body)) return this.fail(denseAnswer(this.options.provider));
    this.options.budget?.giveBack(this);
    this.#resolve(this.replyOf(body));
    if (isEarly) this.stop();
    else this.release();
  }

  protected override onFailed(error: AppError): void {
    this.options.budget?.giveBack(this);
    this.#reject(error);
  }
}
