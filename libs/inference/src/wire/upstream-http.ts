import type { Dispatcher } from 'undici';
import { callCancelled } from '../model/cancellation';
import { keptBytes } from '../model/kept-bytes';
import { givenOnce } from './given-once';
import { atTurnEnd } from '../model/turn-end';
import type { Provider } from '../catalogue/catalogue';
import type { UpstreamStream } from './upstream-stream';
import type { SizedBody, UpstreamCall, UpstreamCallHead } from './upstream-call';
import type { ReplyBudget } from './reply-budget';
import { tooManyCalls } from './upstream-error';
import type { CallPlace } from './call-places';
import { UpstreamPools, type ConnectOwnPlace, type Load, type LoadedPool } from './upstream-pools';
import { StreamExchange } from './stream-exchange';
import { ReplyExchange, type UpstreamReply } from './upstream-exchange';

const LARGEST_BODY_BYTES = 64 * 1024 * 1024;

export type { ConnectOwnPlace };

export interface UpstreamHttpOptions {
  /** Connects to hosts that callers' own keys name; if absent, such hosts are never called. */
  readonly connectOwnPlace?: ConnectOwnPlace;
  /** Most bytes of an answer that is read as a whole. */
  readonly largestBodyBytes?: number;
  /** Limits all answers that are being read as a whole; no limit if absent. */
  readonly replies?: ReplyBudget;
  /** Weights by which holders of calls share a provider's connections; absent if one holder may have all. */
  readonly shares?: readonly number[];
}

/** A call other than the one POST of a request. */
export interface UpstreamRequest extends UpstreamCall {
  /** POST when absent. */
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** True if the path replaces the base URL's path instead of being appended to it. */
  readonly isFromRoot?: boolean;
}

/** The state of a body that the caller is still sending. The upstream cannot answer before it is complete. */
export interface Arrival {
  readonly isWhole: boolean;
  /** Resolves when the whole body may be sent; rejects if that will never be the case. */
  readonly whole: Promise<void>;
}

/** A request of any method. `headers` are name, value, …. */
export interface UpstreamMessage {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: SizedBody | null;
  /** Null if the whole body has arrived. */
  readonly arrival?: Arrival | null;
}

/** The connections to one origin. */
interface Target extends LoadedPool {
  readonly pathPrefix: string;
  /** Headers of the catalogue: name, value, name, value, …. */
  readonly headers: readonly string[];
}

/** Holders of calls that name none. */
const NOBODY: readonly string[] = ['', ''];

/** Largest share of a provider's connections for bodies that are still arriving, because their senders may be slow. */
const ARRIVING_SHARE = 0.25;

/**
 * The HTTP connections to all upstreams: one pool per origin. It has as many connections as the provider may have calls
 * in flight, and one call per connection, so that ending a call can close its connection. The same number of calls may
 * wait for a connection. Beyond that, or beyond the caller's share, a call is refused with `provider_overloaded`.
 *
 * Base URLs come from the operator's catalogue and are trusted, except for those that a caller's own key named:
 * `connectOwnPlace` makes their connections.
 */
export class UpstreamHttp {
  readonly #targets = new WeakMap<Provider, Target>();
  readonly #pools: UpstreamPools;
  readonly #largestBodyBytes: number;
  readonly #budget: ReplyBudget | null;

  constructor(options: UpstreamHttpOptions = {}) {
    const { largestBodyBytes = LARGEST_BODY_BYTES, replies = null, connectOwnPlace = null } = options;
    this.#pools = new UpstreamPools(connectOwnPlace, options.shares);
    this.#largestBodyBytes = largestBodyBytes;
    this.#budget = replies;
  }

  /**
   * Sends a POST (or another method, if the call says so) and waits for the whole answer, whatever its status.
   * `headers` are name, value, …. Throws at once if the call is not admitted.
   */
  request(path: string, headers: readonly string[], call: UpstreamRequest): Promise<UpstreamReply> {
    const [target, place] = this.#admit(call);
    const exchange = new ReplyExchange(this.#options(place, call, call.body.length));
    const request = requestOf(target, path, headers, call, call.body);
    atTurnEnd(() => place.start(() => exchange.start(target.pool, request)));
    return exchange.reply;
  }

  /**
   * Sends any request and waits for the whole answer, whatever its status. A body that is still arriving is sent as it
   * arrives or, if too many others are arriving, once it is complete. The call's time limits start when it is complete.
   */
  async send(
    { method, path, headers, body, arrival = null }: UpstreamMessage,
    call: UpstreamCallHead,
  ): Promise<UpstreamReply> {
    // There is no `await` between this check and `lend`, so that no other call can take the connection in between.
    if (arrival !== null && this.#hasToWait(arrival, call)) await arrival.whole;
    const [target, place] = this.#admit(call);
    const isArriving = arrival !== null && !arrival.isWhole;
    if (isArriving) lend(target.load, arrival);
    const timesFrom = isArriving ? arrival.whole : null;
    const exchange = new ReplyExchange({ ...this.#options(place, call, body?.length), timesFrom });
    const length = body === null ? [] : lengthOf(body);
    const request: Dispatcher.DispatchOptions = {
      method,
      path: target.pathPrefix + path,
      headers: [...target.headers, ...headers, ...length],
      // Undici accepts iterables, although its types do not say so.
      body: body as Buffer | null,
      // This timeout would also run while the body is arriving; the total time does not.
      headersTimeout: isArriving ? 0 : call.timeouts.headersMs,
      bodyTimeout: call.timeouts.idleMs,
    };
    place.start(() => exchange.start(target.pool, request));
    return exchange.reply;
  }

  /**
   * Posts JSON. Returns a 2xx answer as soon as its head has arrived, and any other answer as a whole. Throws at once
   * if the call is not admitted.
   */
  stream(path: string, headers: readonly string[], call: UpstreamRequest): Promise<UpstreamReply | UpstreamStream> {
    const [target, place] = this.#admit(call);
    const exchange = new StreamExchange(this.#options(place, call, call.body.length));
    // The client keeps its input in memory until the answer has ended.
    const request = requestOf(target, path, headers, call, givenOnce(keptBytes(call.body)));
    atTurnEnd(() => place.start(() => exchange.start(target.pool, request)));
    return exchange.opened;
  }

  /** Waits for running calls, then closes every connection. */
  async close(): Promise<void> {
    await this.#pools.close();
  }

  /** Returns whether too many other calls with arriving bodies have a connection. */
  #hasToWait({ isWhole }: Arrival, { endpoint: { provider } }: UpstreamCallHead): boolean {
    const most = Math.max(1, Math.floor(provider.maxConcurrency * ARRIVING_SHARE));
    return !isWhole && this.#targetOf(provider).load.arriving >= most;
  }

  #targetOf(provider: Provider): Target {
    return this.#targets.get(provider) ?? this.#connect(provider);
  }

  #admit({ endpoint: { provider }, signal, holders = NOBODY }: UpstreamCallHead): [Target, CallPlace] {
    if (signal.aborted) throw callCancelled();
    const target = this.#targetOf(provider);
    const place = target.load.places.enter(holders);
    if (place === null) throw tooManyCalls(provider);
    return [target, place];
  }

  #options(place: CallPlace, { endpoint, apiKey, signal, timeouts, holders }: UpstreamCallHead, requestBytes = 0) {
    const onRelease = (): void => place.leave();
    const { totalMs } = timeouts;
    const { provider } = endpoint;
    const [largestBodyBytes, budget] = [this.#largestBodyBytes, this.#budget];
    return { provider, apiKey, signal, totalMs, requestBytes, largestBodyBytes, budget, holders, onRelease };
  }

  #connect(provider: Provider): Target {
    const { baseUrl, headers, maxConcurrency, isOwnPlace = false } = provider;
    const url = new URL(baseUrl);
    // A reload of the catalogue creates new provider objects; the pool is kept as long as its size stays the same.
    const connections = isOwnPlace
      ? this.#pools.ofOwnPlace(url.origin, maxConcurrency)
      : this.#pools.of(url.origin, maxConcurrency);
    if (connections === null) throw tooManyCalls(provider);
    const pathPrefix = url.pathname === '/' ? '' : url.pathname.replace(/\/$/, '');
    const target: Target = { ...connections, pathPrefix, headers: Object.entries(headers).flat() };
    // Pools for places of callers' own keys are not stored here, because they may be dropped between two calls.
    if (!isOwnPlace) this.#targets.set(provider, target);
    return target;
  }
}

function requestOf(
  { pathPrefix, headers: ownHeaders }: Target,
  path: string,
  headers: readonly string[],
  { timeouts, method = 'POST', isFromRoot = false }: UpstreamRequest,
  body: Buffer | SizedBody,
): Dispatcher.DispatchOptions {
  return {
    method,
    path: isFromRoot ? path : pathPrefix + path,
    headers: [...ownHeaders, ...headers, ...(Buffer.isBuffer(body) ? [] : lengthOf(body))],
    body: method === 'POST' ? (body as Buffer) : null,
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.idleMs,
  };
}

/** Counts a call as arriving until its body is complete or has failed. */
function lend(load: Load, { whole }: Arrival): void {
  const giveBack = (): void => {
    load.arriving -= 1;
  };
  load.arriving += 1;
  whole.then(giveBack, giveBack);
}

function lengthOf({ length }: SizedBody): string[] {
  return ['content-length', String(length)];
}
