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

/** Shared by all fetches of this process, so that the number of its lookups at once is bounded. */
const lookups = new NameLookups();

export interface EgressOptions {
  /** Ranges as `10.0.0.0/8`, `fd00::/8`: for them every rule about where a URL points is lifted. */
  readonly allowCidrs: readonly string[];
  /** All addresses of a host name; the hosts file and DNS unless given. */
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
  /** The longest answer that is taken, in bytes after decompression; 0: its body is not read, however long it is. */
  readonly maxBytes: number;
  /** For the whole of it: name resolution, every hop, the last byte of the answer. */
  readonly timeoutMs: number;
  /** Ends the exchange at once; its reason is what is thrown. */
  readonly signal?: AbortSignal;
  /** Whose lookups of names it counts among, e.g. a workspace; those of its host when absent. */
  readonly holder?: string;
  /** How the URL is called in error messages, e.g. `callback_url`; `The URL` when absent. */
  readonly subject?: string;
  /**
   * How many redirects are followed; none when absent, and a redirect is then an answer like any other. For GET
   * and HEAD only. On another origin only headers that negotiate content are sent on.
   */
  readonly maxRedirects?: number;
  /** Takes the body of a 2xx answer piece by piece, as fast as it can; the answer's own body is empty then. */
  readonly sink?: (chunk: Buffer) => Promise<void>;
  /**
   * Asked for each piece of the answer's body, decompressed, before it is kept. Where it returns a promise, no more is
   * read until that resolves; what it throws ends the exchange. The time goes on meanwhile.
   */
  readonly reserve?: (bytes: number) => Promise<void> | undefined;
  /** Asked before each hop, the first included, and before its name is resolved; throws to refuse it. */
  readonly admit?: (url: URL) => void;
}

export interface EgressResponse {
  readonly status: number;
  /** Lower-case names; repeated headers joined with a comma and a space. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed. */
  readonly body: Buffer;
  /** Where the answer came from: the URL asked for, or the one that redirects led to. */
  readonly url: string;
}

/**
 * Sends all requests to URLs that the operator did not choose: callbacks, key sets of issuers, pages, files.
 *
 * Such a URL must be `https`, name a host (no address, no `localhost`), have no port but 443, no user, no
 * password and no fragment. Its name is resolved once; when any of its addresses is not public it is refused,
 * and the connection goes to the addresses that were judged, so a second answer of the name server changes
 * nothing. Every hop of a redirect is judged like the first URL.
 *
 * Connections are not kept: what was judged for one request is not reused for another.
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
   * Whether a URL can be accepted, as far as can be said without resolving its name: for members of requests
   * that are stored now and called later. `fetch` judges again.
   *
   * @throws AppError invalid_request that names the member, in its words and as `metadata.param`
   */
  check(url: string, member?: string): void {
    try {
      this.#guard.judgeUnresolved(readTarget(url, member));
    } catch (thrown) {
      throw member === undefined ? thrown : refusalOfMember(thrown, member);
    }
  }

  /**
   * One request; any status is an answer.
   *
   * @throws AppError invalid_request: the URL is refused · provider_unavailable: the host cannot be reached or
   * its answer cannot be read · timeout · payload_too_large: the answer is longer than `maxBytes`. No message
   * repeats any of the URL.
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
   * A connector for HTTP clients that keep connections, such as those to providers: each connection is judged like
   * the one of a `fetch`, when it is made. What decides which hosts a client may be asked for is up to its owner.
   *
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

/** Resolves a redirect and drops its fragment, which browsers use: it is neither sent nor refused. */
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
