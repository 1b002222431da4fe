import { AppError } from '@libs/errors';
import { findDialect } from './dialects';
import type { Answer, AnswerContext, Dialect } from './dialects/dialect';
import { failedTogether, type Attempt } from './model/attempt';
import type { InferenceRequest, InferenceResult, RoutedRequest, Served, StreamResult } from './model/inference-call';
import type { ProviderAdapter, UpstreamCall, UpstreamTimeouts } from './providers/provider';
import { callCancelled } from './providers/upstream-exchange';
import type { Api, Catalogue, Endpoint } from './routing/catalogue';
import type { CredentialSource, ProviderFilter } from './routing/credential-source';
import type { ProviderHealth } from './routing/provider-health';
import { planRoute, type Candidate } from './routing/route-plan';

const MOST_ATTEMPTS = 3;
const DEFAULT_TIMEOUTS: UpstreamTimeouts = { headersMs: 300_000, idleMs: 60_000, totalMs: 600_000 };

export interface EngineParts {
  /** Asked once per request, so that a reload of the catalogue reaches the next one. */
  readonly catalogue: () => Catalogue;
  /** By protocol. */
  readonly adapters: ReadonlyMap<string, ProviderAdapter>;
  readonly credentials: CredentialSource;
  readonly health: ProviderHealth;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 to below 1. */
  readonly dice: () => number;
}

type Method = 'chat' | 'embed' | 'chatStream';

interface Attempted<T> extends Served {
  readonly value: T;
}

/**
 * From a valid request to a provider's answer: plan, try, fall back, stop.
 *
 * At most three endpoints are tried, one after the other, and only while the error's `retryable` says that
 * another might do better, the caller is there, and time is left. Once an answer or the first event of a
 * stream is there nothing is tried again. A request that failed everywhere throws the last error, with
 * every attempt in `metadata.previous_errors` and the shortest `Retry-After` of them all.
 */
export class InferenceEngine {
  readonly #parts: EngineParts;

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  async chat(request: RoutedRequest): Promise<InferenceResult> {
    return whole(await this.#route('chat', request, this.#answerer('chat', 'chat')));
  }

  async embed(request: RoutedRequest): Promise<InferenceResult> {
    return whole(await this.#route('embeddings', request, this.#answerer('embeddings', 'embed')));
  }

  /** Resolves at the first valid event of the stream. */
  async chatStream(request: RoutedRequest): Promise<StreamResult> {
    const dialect = dialectOf('chat');
    const { value, ...served } = await this.#route('chat', request, async (candidate, attempt) => {
      const call = await this.#call(candidate, attempt, dialect.toUpstream(attempt.body, candidate.endpoint, true));
      const upstream = await this.#method(candidate, 'chatStream')(call);
      return dialect.openStream!(upstream, contextOf(candidate, attempt));
    });
    const { endpoint } = served;
    void value.outcome.then(({ error }) => {
      if (error?.retryable) this.#parts.health.failed(endpoint, error.retryAfterSeconds);
    });
    return { ...served, stream: value };
  }

  /** One call to one endpoint and no other: a line of a batch, which belongs to the provider of its batch. */
  async callEndpoint(
    api: 'chat' | 'embeddings',
    candidate: Candidate,
    request: InferenceRequest,
  ): Promise<InferenceResult> {
    const answer = this.#answerer(api, api === 'chat' ? 'chat' : 'embed');
    return whole(await this.#try([candidate], request, answer));
  }

  async #route<T>(api: Api, request: RoutedRequest, run: Run<T>): Promise<Attempted<T>> {
    const { catalogue, credentials, adapters, health, dice } = this.#parts;
    const hasKey = await credentials.availableProviders(request.scope ?? {});
    const isAvailable: ProviderFilter = (provider) => adapters.has(provider.protocol) && hasKey(provider);
    const plan = planRoute({ ...request, api }, { catalogue: catalogue(), health, isAvailable, dice });
    return this.#try(plan, request, run);
  }

  async #try<T>(plan: readonly Candidate[], request: InferenceRequest, run: Run<T>): Promise<Attempted<T>> {
    const { clock, health } = this.#parts;
    const deadlineMs = request.deadlineMs ?? clock() + DEFAULT_TIMEOUTS.totalMs;
    const attempts: Attempt[] = [];
    const errors: AppError[] = [];
    for (const candidate of plan.slice(0, MOST_ATTEMPTS)) {
      if (request.signal.aborted) throw callCancelled();
      const startMs = clock();
      if (startMs >= deadlineMs) break;
      const attempt = { ...request, deadlineMs };
      try {
        const value = await run(candidate, attempt);
        health.succeeded(candidate.endpoint);
        attempts.push(attemptOf(candidate, 200, null, clock() - startMs));
        return { ...candidate, status: 200, attempts, value };
      } catch (thrown) {
        const error = AppError.from(thrown);
        attempts.push(attemptOf(candidate, error.status, error.code, clock() - startMs));
        errors.push(error);
        if (!error.retryable) break;
        health.failed(candidate.endpoint, error.retryAfterSeconds);
      }
    }
    throw failedTogether(attempts, errors);
  }

  #answerer(api: 'chat' | 'embeddings', method: 'chat' | 'embed'): Run<Answer> {
    const dialect = dialectOf(api);
    return async (candidate, attempt) => {
      const call = await this.#call(candidate, attempt, dialect.toUpstream(attempt.body, candidate.endpoint, false));
      const { body } = await this.#method(candidate, method)(call);
      return dialect.readAnswer(body, contextOf(candidate, attempt));
    };
  }

  async #call({ endpoint }: Candidate, attempt: TimedRequest, body: Buffer): Promise<UpstreamCall> {
    const { credentials, clock } = this.#parts;
    const apiKey = await credentials.forProvider(endpoint.provider, attempt.scope ?? {});
    if (apiKey === null && endpoint.provider.apiKeyEnv !== null) throw unusable(endpoint, 'there is no key');
    const limits = { ...DEFAULT_TIMEOUTS, ...attempt.timeouts };
    const totalMs = Math.max(1, Math.min(limits.totalMs, attempt.deadlineMs - clock()));
    return { endpoint, apiKey, body, signal: attempt.signal, timeouts: { ...limits, totalMs } };
  }

  #method<M extends Method>({ endpoint }: Candidate, method: M): NonNullable<ProviderAdapter[M]> {
    const adapter = this.#parts.adapters.get(endpoint.provider.protocol);
    const bound = adapter?.[method]?.bind(adapter);
    if (bound) return bound as NonNullable<ProviderAdapter[M]>;
    throw unusable(endpoint, `protocol ${endpoint.provider.protocol} cannot ${method}`);
  }
}

interface TimedRequest extends InferenceRequest {
  readonly deadlineMs: number;
}

type Run<T> = (candidate: Candidate, attempt: TimedRequest) => Promise<T>;

function whole({ value, ...served }: Attempted<Answer>): InferenceResult {
  return { ...value, ...served };
}

function dialectOf(api: Api): Dialect {
  const dialect = findDialect(api);
  if (dialect) return dialect;
  throw new AppError('server', 'Internal error', { internal: `no dialect for ${api}` });
}

function unusable({ provider }: Endpoint, reason: string): AppError {
  return new AppError('provider_unavailable', 'The provider is not available', {
    metadata: { provider_name: provider.name },
    internal: `${provider.slug}: ${reason}`,
  });
}

function contextOf({ model, endpoint }: Candidate, request: InferenceRequest): AnswerContext {
  const { generationId, body, priceList = 'standard' } = request;
  return { generationId, model, endpoint, priceList, requestBody: body };
}

function attemptOf({ model, endpoint }: Candidate, status: number, errorCode: string | null, tookMs: number): Attempt {
  const { name, slug } = endpoint.provider;
  return { model: model.slug, providerName: name, providerSlug: slug, status, errorCode, tookMs };
}
