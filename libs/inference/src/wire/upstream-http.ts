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
  /** Connects to hosts that callers' own keys name; without it no such host is called. */
  readonly connectOwnPlace?: ConnectOwnPlace;
  /** Of an answer that is read whole. */
  readonly largestBodyBytes?: number;
  /** Bounds all answers that are being read whole; no bound when absent. */
  readonly replies?: ReplyBudget;
  /** Weights of what the holders of calls may have of a provider's connections; absent where one may have all. */
  readonly shares?: readonly number[];
}

/** A call that is not the POST of one request. */
export interface UpstreamRequest extends UpstreamCall {
  /** POST when absent. */
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** The path is the whole one of the host: the base URL's own is not put before it. */
  readonly isFromRoot?: boolean;
}

/** The state of a body that the caller is still sending: until it is whole, the upstream cannot answer. */
export interface Arrival {
  readonly isWhole: boolean;
  /** Resolves when all of the body may be sent; rejects when it never will. */
  readonly whole: Promise<void>;
}

/** A request of any method. `headers` are name, value, …. */
export interface UpstreamMessage {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: SizedBody | null;
  /** Null where all of the body is here. */
  readonly arrival?: Arrival | null;
}

/** The connections to one origin. */
interface Target extends LoadedPool {
  readonly pathPrefix: string;
  /** The catalogue's own headers, as name, value, name, value, …. */
  readonly headers: readonly string[];
}

/** Holders of calls that name none. */
const NOBODY: readonly string[] = ['', ''];

/** Of a provider's connections, as many at most are lent to bodies that still arrive: their senders may be slow. */
const ARRIVING_SHARE = 0.25;

/**
 * The HTTP connections to all upstreams: one pool per origin, with as many connections as the provider may
 * have calls in flight, one call per connection (so that ending a call can end its connection). As many
 * calls again may wait for a connection; beyond that, or beyond the caller's share, a call is refused as
 * `provider_overloaded`.
 *
 * Base URLs come from the operator's catalogue and are trusted, but for those that a caller's own key named: their
 * connections are made by `connectOwnPlace`.
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
   * POSTs (unless the call says otherwise) and waits for the whole answer, whatever its status. `headers` are
   * name, value, …. Throws at once where the call is not let in.
   */
  request(path: string, headers: readonly string[], call: UpstreamRequest): Promise<UpstreamReply> {
    const [target, place] = this.#admit(call);
    const exchange = new ReplyExchange(this.#options(place, call, call.body.length));
    const request = requestOf(target, path, headers, call, call.body);
    atTurnEnd(() => place.start(() => exchange.start(target.pool, request)));
    return exchange.reply;
  }

  /**
   * Sends any request and waits for the whole answer, whatever its status. A body that still arrives is sent as it
   * comes, or where too many do so already, when it is whole; the call's times run from when it is.
   */
  async send(
    { method, path, headers, body, arrival = null }: UpstreamMessage,
    call: UpstreamCallHead,
  ): Promise<UpstreamReply> {
    // No `await` between this check and `lend`, so that no other call comes in between.
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
      // Undici takes what can be iterated over, which its types do not say.
      body: body as Buffer | null,
      // This timeout would also run while the body still arrives; the total time does not.
      headersTimeout: isArriving ? 0 : call.timeouts.headersMs,
      bodyTimeout: call.timeouts.idleMs,
    };
    place.start(() => exchange.start(target.pool, request));
    return exchange.reply;
  }

  /**
   * POSTs JSON; a 2xx answer is handed out as soon as its head is there, any other comes whole. Throws at once
   * where the call is not let in.
   */
  stream(path: string, headers: readonly string[], call: UpstreamRequest): Promise<UpstreamReply | UpstreamStream> {
    const [target, place] = this.#admit(call);
    const exchange = new StreamExchange(this.#options(place, call, call.body.length));
    // The client holds on to what it was given until the answer has ended.
    const request = requestOf(target, path, headers, call, givenOnce(keptBytes(call.body)));
    atTurnEnd(() => place.start(() => exchange.start(target.pool, request)));
    return exchange.opened;
  }

  /** Waits for calls in flight, then closes every connection. */
  async close(): Promise<void> {
    await this.#pools.close();
  }

  /** Whether too many others whose bodies still arrive have a connection. */
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

  #options(place: CallPlace, { endpoint, apiKey, signal, timeouts }: UpstreamCallHead, requestBytes = 0) {
    const onRelease = (): void => place.leave();
    const { totalMs } = timeouts;
    const { provider } = endpoint;
    const [largestBodyBytes, budget] = [this.#largestBodyBytes, this.#budget];
    return { provider, apiKey, signal, totalMs, requestBytes, largestBodyBytes, budget, onRelease };
  }

  #connect(provider: Provider): Target {
    const { baseUrl, headers, maxConcurrency, isOwnPlace = false } = provider;
    const url = new URL(baseUrl);
    // A reload of the catalogue makes new provider objects; the pool stays as long as its size does.
    const connections = isOwnPlace
      ? this.#pools.ofOwnPlace(url.origin, maxConcurrency)
      : this.#pools.of(url.origin, maxConcurrency);
    if (connections === null) throw tooManyCalls(provider);
    const pathPrefix = url.pathname === '/' ? '' : url.pathname.replace(/\/$/, '');
    const target: Target = { ...connections, pathPrefix, headers: Object.entries(headers).flat() };
    // The connections to a place of a caller's own may be given up between two calls.
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

/** A call counts among those that arrive until its body is whole, or never will be. */
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
