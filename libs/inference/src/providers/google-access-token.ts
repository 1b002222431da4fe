import { createHash } from 'node:crypto';
import { MalformedJson, parseJson, numberOf, objectOf, stringOf } from '@libs/json';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { importPKCS8, SignJWT } from 'jose';
import { callCancelled, type CancelSignal } from '../model/cancellation';
import { monotonicMs } from '../wire/monotonic-ms';
import type { Provider } from '../catalogue/catalogue';
import type { ServiceAccount } from './google-service-account';
import type { UpstreamCall } from '../wire/upstream-call';
import { brokenAnswer, upstreamError } from '../wire/upstream-error';
import type { UpstreamHttp } from '../wire/upstream-http';

export const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const ASSERTION_SECONDS = 3_600;
/** A token is not used in the last minute of its validity, because a request may take that long to arrive. */
const MARGIN_MS = 60_000;
const FETCH_MS = 10_000;
/** Most cached tokens. Callers bring their own keys, so there may be many. */
const MOST_TOKENS = 1_000;
const MOST_FETCHES_AT_ONCE = 16;
const EMPTY = Buffer.alloc(0);

/** The endpoint for which a token is fetched, and the signal that ends the wait. */
type TokenCall = Pick<UpstreamCall, 'endpoint' | 'signal'>;

interface CachedToken {
  readonly token: Secret;
  readonly expiresAtMs: number;
}

/**
 * Access tokens for service accounts, by the JWT grant of OAuth 2.0 (RFC 7523 §2.1). A token is cached until a minute
 * before it expires. While a token is being fetched, all calls with the same document wait for the same fetch, and a
 * caller that disconnects does not end it for the others.
 *
 * Assertions are sent only to the address that was given to the constructor: an uploaded document must not choose where
 * its signature is sent.
 */
export class GoogleAccessTokens {
  readonly #http: UpstreamHttp;
  readonly #tokenUrl: string;
  readonly #clock: () => number;
  /** Tokens by the hash of the document; the least recently used one comes first. */
  readonly #tokens = new Map<string, CachedToken>();
  readonly #fetches = new Map<string, Promise<Secret>>();

  /**
   * `clock` returns milliseconds since the epoch; `elapsedMs` returns the milliseconds that measure the validity of
   * tokens.
   */
  constructor(
    http: UpstreamHttp,
    tokenUrl: string = GOOGLE_TOKEN_URL,
    clock: () => number = Date.now,
    private readonly elapsedMs: () => number = monotonicMs,
  ) {
    this.#http = http;
    this.#tokenUrl = tokenUrl;
    this.#clock = clock;
  }

  /** @throws AppError that reveals neither the document nor the token endpoint's reply about it */
  async tokenFor(document: Secret, account: ServiceAccount, call: TokenCall): Promise<Secret> {
    const key = keyOf(document);
    const cached = this.#tokens.get(key);
    if (cached !== undefined && cached.expiresAtMs - MARGIN_MS > this.elapsedMs()) {
      this.#remember(key, cached);
      return cached.token;
    }
    let fetch = this.#fetches.get(key);
    if (fetch === undefined) {
      fetch = this.#fetch(key, account, call).finally(() => this.#fetches.delete(key));
      this.#fetches.set(key, fetch);
    }
    return untilAborted(fetch, call.signal);
  }

  /** Removes the document's token, which the upstream no longer accepts. */
  forget(document: Secret): void {
    this.#tokens.delete(keyOf(document));
  }

  async #fetch(key: string, account: ServiceAccount, { endpoint }: TokenCall): Promise<Secret> {
    const { provider } = endpoint;
    const assertion = await this.#assertion(account, provider);
    const form = new URLSearchParams({ grant_type: GRANT_TYPE, assertion }).toString();
    const { status, headers, body } = await this.#http.request(
      '',
      ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json'],
      {
        endpoint: { ...endpoint, provider: this.#tokenEndpoint(provider) },
        apiKey: null,
        body: Buffer.from(form),
        signal: new AbortController().signal,
        timeouts: { headersMs: FETCH_MS, idleMs: FETCH_MS, totalMs: FETCH_MS },
      },
    );
    if (status < 200 || status >= 300) throw tokenRefused(provider, status, headers);
    const cached = this.#readToken(body, provider);
    this.#remember(key, cached);
    return cached.token;
  }

  async #assertion({ email, privateKey, privateKeyId }: ServiceAccount, provider: Provider): Promise<string> {
    const nowSeconds = Math.floor(this.#clock() / 1_000);
    try {
      return await new SignJWT({ scope: SCOPE })
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(privateKeyId && { kid: privateKeyId }) })
        .setIssuer(email)
        .setAudience(this.#tokenUrl)
        .setIssuedAt(nowSeconds)
        .setExpirationTime(nowSeconds + ASSERTION_SECONDS)
        .sign(await importPKCS8(privateKey, 'RS256'));
    } catch {
      // The original error contains parts of the key, so it is not kept as a cause.
      throw unusableDocument(provider, 'its private key signs nothing');
    }
  }

  /** Returns the token endpoint as a provider, with its own address and headers and the name of the real provider. */
  #tokenEndpoint(provider: Provider): Provider {
    return {
      ...provider,
      baseUrl: this.#tokenUrl,
      headers: {},
      isOwnPlace: false,
      maxConcurrency: MOST_FETCHES_AT_ONCE,
    };
  }

  #readToken(body: Buffer, provider: Provider): CachedToken {
    const { access_token: token, expires_in: seconds } = objectOf(parsed(body));
    if (!stringOf(token)) throw brokenAnswer(provider, 'the token endpoint sent no token');
    const lifeMs = (numberOf(seconds) ?? ASSERTION_SECONDS) * 1_000;
    return { token: new Secret(String(token)), expiresAtMs: this.elapsedMs() + lifeMs };
  }

  #remember(key: string, cached: CachedToken): void {
    this.#tokens.delete(key);
    this.#tokens.set(key, cached);
    for (const oldest of this.#tokens.keys()) {
      if (this.#tokens.size <= MOST_TOKENS) return;
      this.#tokens.delete(oldest);
    }
  }
}

/** Returns the error for a service account document that cannot be used. */
export function unusableDocument({ name, slug }: Provider, reason: string): AppError {
  return new AppError('provider_unavailable', 'The provider is not available', {
    metadata: { provider_name: name },
    internal: `${slug}: the service account document cannot be used: ${reason}`,
  });
}

/**
 * Returns the error for a failed token request. A refusal is treated as a problem of the account; the endpoint's reply
 * is not shown.
 */
function tokenRefused(provider: Provider, status: number, headers: Parameters<typeof upstreamError>[2]): AppError {
  const isPassing = status >= 500 || status === 429 || status === 408;
  return upstreamError(provider, isPassing ? status : 401, headers, EMPTY);
}

function keyOf(document: Secret): string {
  return createHash('sha256').update(document.reveal()).digest('base64');
}

function parsed(body: Buffer): unknown {
  try {
    return parseJson(body);
  } catch (thrown) {
    if (thrown instanceof MalformedJson) return null;
    throw thrown;
  }
}

/** Resolves with the result of the work, or rejects when the signal aborts before that. */
async function untilAborted<T>(work: Promise<T>, signal: CancelSignal): Promise<T> {
  if (signal.aborted) throw callCancelled();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(callCancelled());
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
