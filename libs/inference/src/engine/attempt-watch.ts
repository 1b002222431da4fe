import type { AppError } from '@libs/errors';
import type { Attempted } from './attempted';
import { failedLater } from '../routing/attempt';
import { endOfFailure, endOfStream, type AttemptEnd } from '../routing/attempt-end';
import type { Candidate } from '../routing/planned-route';
import type { ProviderHealth } from '../routing/provider-health';
import type { CallMeasure } from '../routing/provider-statistics';
import type { StreamOutcome } from '../model/answer-stream';
import type { Usage } from '../pricing/usage';
import { isUpstreamFault } from '../wire/upstream-fault';
import type { RoutableApi } from './route-planner';

export interface AttemptWatchParts {
  readonly health: ProviderHealth;
  readonly clock: () => number;
  /**
   * Called with each error that was our own fault and ended a call at a provider, even if another endpoint then
   * answered. Must not throw.
   */
  readonly onOwnFault?: (error: AppError, candidate: Candidate) => void;
  /** Called once for each call to an endpoint, when it is over. Must not throw. */
  readonly onAttempt?: (candidate: Candidate, end: AttemptEnd, error: AppError | null) => void;
}

/** Notes how calls to endpoints end: for the endpoints' health, for measurements, and for listeners. */
export class AttemptWatch {
  constructor(private readonly parts: AttemptWatchParts) {}

  /** A whole answer is there. */
  answered(candidate: Candidate, usage?: Usage, times: CallMeasure = {}): void {
    if (usage !== undefined) this.#measured(candidate, usage, times);
    this.#ended(candidate, null);
    this.parts.onAttempt?.(candidate, 'ok', null);
  }

  /** A call ended before its answer began. */
  failed(candidate: Candidate, error: AppError): void {
    if (error.retryable) this.#unhealthy(candidate, error);
    if (!error.retryable || !isUpstreamFault(error)) {
      this.parts.health.saidNothing(candidate.endpoint, candidate.credential);
    }
    this.#ended(candidate, error);
    this.parts.onAttempt?.(candidate, endOfFailure(error), error);
  }

  /** Notes how a stream that has begun ends, also in its attempt. */
  began(api: RoutableApi, served: Omit<Attempted<unknown>, 'value'>, outcome: Promise<StreamOutcome>): void {
    const { clock, onAttempt } = this.parts;
    const { attempts } = served;
    const last = attempts.at(-1)!;
    const firstTokenMs = last.tookMs;
    const firstMs = clock();
    void outcome.then(({ state, error, usage }) => {
      if (error !== null) attempts[attempts.length - 1] = failedLater(api, last, error);
      if (error?.retryable) this.#unhealthy(served, error);
      else this.#measured(served, usage, { firstTokenMs, generationMs: clock() - firstMs });
      this.#ended(served, error);
      onAttempt?.(served, endOfStream(state === 'cancelled', error), error);
    });
  }

  #measured({ endpoint }: Candidate, { completionTokens }: Usage, times: CallMeasure): void {
    const { statistics, history } = this.parts.health;
    const measure = { ...times, completionTokens };
    statistics.record(endpoint, measure);
    history.measured(endpoint, measure);
  }

  /** For the uptime, a refused request or a rate limit is neither a failure nor a success of the endpoint. */
  #ended({ endpoint, credential }: Candidate, error: AppError | null): void {
    if (credential) return;
    const isFailure = error !== null && error.retryable && isUpstreamFault(error);
    if (error !== null && (!isFailure || error.code === 'rate_limit_exceeded')) return;
    this.parts.health.history.ended(endpoint, isFailure);
  }

  /** Notes an error for the endpoint's health if it is the upstream's fault; reports our own to `onOwnFault`. */
  #unhealthy(candidate: Candidate, error: AppError): void {
    if (!isUpstreamFault(error)) return this.parts.onOwnFault?.(error, candidate);
    const { endpoint, credential } = candidate;
    const isQuota = error.code === 'rate_limit_exceeded';
    this.parts.health.failed(endpoint, error.retryAfterSeconds, { credential, isQuota });
  }
}
