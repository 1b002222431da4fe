import { AppError } from '@libs/errors';
import type { buildConnector } from 'undici';
import { AddressGuard } from './address-guard';
import { Deadline } from './deadline';
import { guardedConnector } from './egress-connector';
import { exchangeOnce, redirectOf, type HopAnswer, type HopRequest } from './egress-exchange';
import { readTarget, refusedUrl, type EgressTarget } from './egress-target';
import { NameLookups, type NameQuestion } from './name-lookups';
import type { ResolvedAddress } from './resolved-address';

type Resolve = (hostname: string, question: NameQuestion) => Promise<readonly ResolvedAddress[]>;

const CONNECT_MS = 5_000;

/** Shared by all requests of this process, so that its concurrent lookups are limited. */
const lookups = new NameLookups();

export interface EgressOptions {
  /** Ranges such as `10.0.0.0/8`, `fd00::/8`, for which every rule about the target of a URL is lifted. */
  readonly allowCidrs: readonly string[];
  /** Returns all addresses of a host name; by default from the hosts file and DNS. */
  readonly resolve?: Resolve;
  /** Certificate authorities, as PEM, that are trusted instead of the system's. */
  readonly certificateAuthorities?: string;
}

export interface EgressRequest {
  /** GET when absent. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** All headers that are sent in addition to `accept-encoding` and those that HTTP itself needs. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Most bytes of an answer after decompression; 0: its body is not read, however long it is. */
  readonly maxBytes: number;
  /** Time limit for everything: name resolution, every redirect, the last byte of the answer. */
  readonly timeoutMs: number;
  /** Ends the exchange at once; its reason is thrown. */
  readonly signal?: AbortSignal;
  /** To whom its name lookups are charged, e.g. a workspace; absent: to its host. */
  readonly holder?: string;
  /** Name of the URL in error messages, e.g. `callback_url`; `The URL` if absent. */
  readonly subject?: string;
  /**
   * Most redirects to follow; if absent none, and a redirect is then an answer like any other. For GET and HEAD only.
   * To another origin, only headers that negotiate content are sent.
   */
  readonly maxRedirects?: number;
  /** Takes the body of a 2xx answer piece by piece, as fast as it can; the answer's own body is empty then. */
  readonly sink?: (chunk: Buffer) => Promise<void>;
  /**
   * Called for each decompressed piece of the answer's body before it is kept. If it returns a promise, reading pauses
   * until that resolves; an error ends the exchange. The time limit continues to run.
   */
  readonly reserve?: (bytes: number) => Promise<void> | undefined;
  /** Called before each redirect and the first request, before the name is resolved; throws to refuse it. */
  readonly admit?: (url: URL) => void;
}

export interface EgressResponse {
  readonly status: number;
  /** Lower-case names; repeated headers are joined with a comma and a space. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed. */
  readonly body: Buffer;
  /** The URL of the answer: the requested one, or the one to which redirects led. */
  readonly url: string;
}

/**
 * Sends all requests to URLs that the operator did not choose: callbacks, key sets of issuers, pages, files.
 *
 * Such a URL must be `https`, name a host (no address, no `localhost`), and have no port other than 443, no user, no
 * password and no fragment. Its name is resolved once. If any of its addresses is not public it is refused. The
 * connection is made to the checked addresses, so a second answer of the name server changes nothing. Every redirect is
 * checked like the first URL.
 *
 * Connections are not reused, because a check for one request must not apply to another.
 */
export class Egress {
  readonly #guard: AddressGuard;
  readonly #resolve: Resolve;
  readonly #certificateAuthorities: string | undefined;

  constructor(options: EgressOptions) {
    this.#guard = new AddressGuard(options.allowCidrs);
    this.#resolve = options.resolve ?? ((hostname, question) => lookups.find(hostname, question));
    this.#certificateAuthorities = options.certificateAuthorities;
  }

  /**
   * Checks whether a URL is acceptable, as far as possible without resolving its name: for fields of requests that are
   * stored now and called later. `fetch` checks again.
   * @throws AppError invalid_request with the field name, in the message and as `metadata.param`
   */
  check(url: string, member?: string): void {
    try {
      this.#guard.judgeUnresolved(readTarget(url, member));
    } catch (thrown) {
      throw member === undefined ? thrown : refusalOfMember(thrown, member);
    }
  }

  /**
   * Sends one request; any status is an answer.
   * @throws AppError invalid_request: the URL is refused · provider_unavailable: the host cannot be reached or its
   * answer cannot be read · timeout · payload_too_large: the answer is longer than `maxBytes`. No message repeats any
   * part of the URL.
   */
  async fetch(url: string, request: EgressRequest): Promise<EgressResponse> {
    request.signal?.throwIfAborted();
    const deadline = new Deadline(request.timeoutMs, request.signal);
    try {
      return await this.#follow(readTarget(url, request.subject), request, deadline);
    } catch (error) {
      throw deadline.explain(error);
    } finally {
      deadline.clear();
    }
  }

  /**
   * Returns a connector for HTTP clients that keep connections, such as those to providers: each new connection is
   * checked as in `fetch`. The owner of the client decides which hosts it may be used for.
   * @param timeoutMs for resolving the name, and again for connecting
   */
  connector(timeoutMs = CONNECT_MS): buildConnector.connector {
    const judge = async (url: string): Promise<readonly ResolvedAddress[]> => {
      const deadline = new Deadline(timeoutMs, undefined);
      try {
        return await this.#judgedAddresses(readTarget(url, 'The host of the key'), deadline);
      } catch (error) {
        throw deadline.explain(error);
      } finally {
        deadline.clear();
      }
    };
    return guardedConnector(judge, { certificateAuthorities: this.#certificateAuthorities, timeoutMs });
  }

  async #follow(first: EgressTarget, request: EgressRequest, deadline: Deadline): Promise<EgressResponse> {
    let target = first;
    let headers = request.headers ?? {};
    for (let redirectsLeft = redirectsOf(request); ; redirectsLeft -= 1) {
      request.admit?.(new URL(target.url));
      const answer = await this.#hop(target, { ...request, headers }, deadline);
      const location = redirectOf(answer.status, answer.headers);
      if (location === null || request.maxRedirects === undefined) return { ...answer, url: target.url.href };
      if (redirectsLeft === 0) throw refusedUrl(request.subject, 'it redirects too often');
      const next = readTarget(withoutFragment(location, target.url, request.subject), request.subject);
      if (next.url.origin !== target.url.origin) headers = negotiationOnly(headers);
      target = next;
    }
  }

  async #hop(
    target: EgressTarget,
    request: HopRequest & Pick<EgressRequest, 'holder'>,
    deadline: Deadline,
  ): Promise<HopAnswer> {
    const addresses = await this.#judgedAddresses(target, deadline, request.holder);
    return await exchangeOnce(target, addresses, request, {
      signal: deadline.signal,
      certificateAuthorities: this.#certificateAuthorities,
    });
  }

  async #judgedAddresses(
    target: EgressTarget,
    deadline: Deadline,
    holder = target.hostname,
  ): Promise<readonly ResolvedAddress[]> {
    this.#guard.judgeUnresolved(target);
    if (target.literal !== null) return this.#guard.judge(target, [target.literal]);
    const { signal } = deadline;
    return this.#guard.judge(target, await deadline.race(this.#resolveName(target, { holder, signal })));
  }

  async #resolveName({ hostname, subject }: EgressTarget, question: NameQuestion): Promise<readonly ResolvedAddress[]> {
    try {
      const addresses = await this.#resolve(hostname, question);
      if (addresses.length > 0) return addresses;
    } catch (error) {
      throw nameNotResolved(subject, error);
    }
    throw nameNotResolved(subject);
  }
}

function refusalOfMember(thrown: unknown, param: string): AppError {
  const { code, message } = AppError.from(thrown);
  return new AppError(code, message, { cause: thrown, metadata: { param } });
}

function nameNotResolved(subject: string, cause?: unknown): AppError {
  return new AppError('provider_unavailable', `${subject} cannot be reached: its host name does not resolve`, {
    cause,
    internal: 'egress: no address',
  });
}

function redirectsOf({ method = 'GET', maxRedirects = 0 }: EgressRequest): number {
  if (maxRedirects > 0 && method !== 'GET' && method !== 'HEAD') {
    throw new TypeError('Only GET and HEAD follow redirects');
  }
  return maxRedirects;
}

/** Resolves a redirect and drops its fragment, which only browsers use: it is neither sent nor refused. */
function withoutFragment(location: string, base: URL, subject: string | undefined): string {
  const url = URL.parse(location, base.href);
  if (url === null) throw refusedUrl(subject, 'it redirects to something that is no URL');
  url.hash = '';
  return url.href;
}

function negotiationOnly(headers: Readonly<Record<string, string>>): Record<string, string> {
  const harmless = /^(accept|accept-language|user-agent)$/i;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.test(name)));
}
