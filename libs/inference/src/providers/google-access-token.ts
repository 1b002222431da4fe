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
/** A token is not used in the last minute of its life: a request may be on its way for as long. */
const MARGIN_MS = 60_000;
const FETCH_MS = 10_000;
/** Callers bring keys of their own, so there may be many. */
const MOST_TOKENS = 1_000;
const MOST_FETCHES_AT_ONCE = 16;
const EMPTY = Buffer.alloc(0);

/** The endpoint that a token is fetched for, and the signal that ends the wait for it. */
type TokenCall = Pick<UpstreamCall, 'endpoint' | 'signal'>;

interface CachedToken {
  readonly token: Secret;
  readonly expiresAtMs: number;
}

/**
 * Access tokens for service accounts, by the JWT grant of OAuth 2.0 (RFC 7523 §2.1). One is kept until a minute
 * before it expires. While it is fetched, all calls with the same document wait for the same fetch. A caller who
 * leaves does not end it for the others.
 *
 * Assertions go to the one address this was made with: a document that a customer uploaded must not choose where
 * what it signed is sent.
 */
export class GoogleAccessTokens {
  readonly #http: UpstreamHttp;
  readonly #tokenUrl: string;
  readonly #clock: () => number;
  /** By the hash of the document; the least recently used one first. */
  readonly #tokens = new Map<string, CachedToken>();
  readonly #fetches = new Map<string, Promise<Secret>>();

  /** `clock` gives milliseconds since the epoch, `elapsedMs` those by which the life of tokens is measured. */
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

  /** @throws AppError that reveals nothing of the document nor of what the token endpoint said about it */
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

  /** The upstream no longer accepts the document's token. */
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
      // What failed names parts of the key, so it is not kept as a cause.
      throw unusableDocument(provider, 'its private key signs nothing');
    }
  }

  /** Returns the token endpoint as a provider: with its own address and headers, and the real provider's name. */
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

/** Returns the error for a failed token request. A refusal is about the account; the endpoint's text is not shown. */
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

/** The work's result, unless the signal ends the wait for it first. */
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
