import { isCallable } from '../apis/apis';
import { AppError } from '@libs/errors';
import type { Endpoint } from '../catalogue/catalogue';
import type { CallableApi, StreamableApi, UpstreamApi } from '../dialects/dialect-pairs';
import { parseRequest } from '../dialects/request-members';
import { StreamDebug } from '../dialects/stream-debug';
import { EndpointCaller, type Answered, type CallerParts } from './endpoint-caller';
import { AttemptWatch, type AttemptWatchParts } from './attempt-watch';
import { attemptOf, type Attempt } from '../routing/attempt';
import { RequestReading } from './request-reading';
import { whole, type Admission, type Attempted, type AttemptOutcome, type Run } from './attempted';
import type { InferenceRequest, InferenceResult, RoutedRequest, StreamResult } from './inference-call';
import type { TurnRequest, TurnResult } from './turn-request';
import { NO_LOSS } from '../model/loss-report';
import type { PicoUsd } from '../pricing/money';
import { callCancelled } from '../model/cancellation';
import { isPaid, leftCallOf, noteLeftCall } from './left-call';
import type { LeftCharge } from '../model/left-charge';
import { CandidateQueue } from '../routing/candidate-queue';
import { isUpstreamFault } from '../wire/upstream-fault';
import { forbiddenByKeys, usableCandidates } from '../routing/keyed-candidates';
import { failedOnRoute, noteAttempts } from '../routing/failed-route';
import { failedByAll } from '../routing/key-outcomes';
import type { Candidate, RoutePlan } from '../routing/route-plan';
import { RoutePlanner, type PlannerParts, type RoutableApi } from './route-planner';
import { allowedCandidates, ruledToolsIn } from '../routing/route-policy';
import { payableCandidates } from '../routing/shared-needs';
import { SpeechCaller, type TranscriptionAnswer, type TranscriptionRequest } from './speech-caller';
import { StickyRoutes } from '../routing/sticky-routes';
import { TokenCounter } from './token-counter';
import { DEFAULT_TIMEOUTS, timedNow, UpstreamCalls, type TimedRequest } from './upstream-calls';

/** The dependencies of all parts of the engine. */
export type EngineParts = PlannerParts & CallerParts & AttemptWatchParts;

/**
 * Runs a valid request: plans the route, tries endpoints and falls back.
 *
 * Tries at most three endpoints of a model, one after the other. It continues only if the error is `retryable`, the
 * caller is still connected and time is left. After any other error it tries the next model that the request names,
 * because another model may accept what this one refused. After an answer or the first event of a stream, nothing is
 * tried again. If all attempts fail, throws the last error, with every attempt in `metadata.previous_errors` and the
 * shortest `Retry-After` of all.
 */
export class InferenceEngine {
  readonly #parts: EngineParts;
  readonly #calls: UpstreamCalls;
  readonly #caller: EndpointCaller;
  readonly #speech: SpeechCaller;
  readonly #counter: TokenCounter;
  readonly #planner: RoutePlanner;
  readonly #sticky: StickyRoutes;
  readonly #watch: AttemptWatch;
  readonly #admits: Admission = (candidate, failed) => this.#parts.health.admits(candidate, failed);

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#calls = new UpstreamCalls(parts);
    this.#caller = new EndpointCaller(parts, this.#calls);
    this.#speech = new SpeechCaller(parts, this.#calls);
    this.#counter = new TokenCounter(parts.adapters, this.#calls);
    this.#sticky = new StickyRoutes(parts.clock);
    this.#watch = new AttemptWatch(parts);
    this.#planner = new RoutePlanner(parts, this.#caller, this.#sticky);
  }

  /** Returns a whole answer in the dialect of `api`, also from an endpoint that has another one. */
  async answer(api: CallableApi, request: RoutedRequest): Promise<InferenceResult> {
    const answered = await this.#route(api, request, this.#answerer(api));
    this.#watch.answered(answered, answered.value.usage, { generationMs: answered.attempts.at(-1)?.tookMs });
    return whole(answered);
  }

  /** Resolves at the first valid event of the stream; if it is translated, at the first content. */
  async stream(api: StreamableApi, request: RoutedRequest): Promise<StreamResult> {
    const debug = StreamDebug.askedIn(request.body);
    const asked = debug === null ? request : { ...request, debug };
    const { value, ...served } = await this.#route(api, asked, (candidate, attempt) =>
      this.#caller.openStream(api, candidate, attempt),
    );
    this.#watch.began(api, served, value.stream.outcome);
    return { ...served, ...value };
  }

  /** Transcribes a recording. If some endpoint cannot download it, the gateway downloads it before it calls any. */
  async transcribe(request: TranscriptionRequest): Promise<TranscriptionAnswer> {
    const { value, ...served } = await this.#route(
      'transcription',
      request,
      (candidate, attempt) => this.#speech.transcribe(candidate, attempt, request.transcription),
      (plan) => this.#speech.prepare(plan.candidates, request.transcription),
    );
    this.#watch.answered(served);
    return { ...served, ...value, losses: NO_LOSS };
  }

  /** Returns the most that a recording may cost at an endpoint, at the list price. */
  mostExpensiveTranscription(...asked: Parameters<SpeechCaller['mostExpensive']>): PicoUsd {
    return this.#speech.mostExpensive(...asked);
  }

  /**
   * Runs one turn of a conversation in the canonical model. Resolves like `answer`, or like `stream` if it is streamed.
   */
  async converse(api: StreamableApi, request: TurnRequest, isStream: boolean): Promise<TurnResult> {
    const asked = { ...request, reading: new RequestReading(request.conversation) };
    const { value, ...served } = await this.#route(api, asked, (candidate, attempt) =>
      this.#caller.openTurn(api, candidate, attempt, isStream),
    );
    const { outcome } = value.turn;
    if (isStream) this.#watch.began(api, served, outcome);
    else this.#watch.answered(served, (await outcome).usage, { generationMs: served.attempts.at(-1)?.tookMs });
    return { ...served, ...value };
  }

  /** Returns the route that a request would take now, without making a call. @throws AppError as `planRoute` does */
  async plan(api: RoutableApi, request: RoutedRequest): Promise<RoutePlan> {
    return this.#planner.plan(api, request);
  }

  /** Returns when a request that begins now must be over, by the engine's clock. */
  deadlineMs(): number {
    const { clock, timeouts = DEFAULT_TIMEOUTS } = this.#parts;
    return clock() + timeouts.totalMs;
  }

  /**
   * Returns the tokens of a prompt for `messages`, counted by the provider that would answer. Null if neither the first
   * endpoint of the route nor the second can count.
   */
  async countTokens(request: RoutedRequest): Promise<number | null> {
    const { candidates } = await this.#planner.plan('messages', request);
    const able = candidates.filter(this.#counter.canCount);
    if (able.length === 0 || able[0] !== candidates[0]) return null;
    const counted = await this.#try(
      'messages',
      able,
      request,
      (candidate, attempt) => this.#counter.count(candidate, attempt),
      () => true,
    );
    this.#watch.answered(counted);
    return counted.value;
  }

  /**
   * Calls exactly one endpoint, with the keys that the caller may use, if the caller's policies allow it. Used for
   * batch lines.
   */
  async callEndpoint(api: CallableApi, candidate: Candidate, request: InferenceRequest): Promise<InferenceResult> {
    const { credentials } = this.#parts;
    const { scope = {}, policies = [], isForOwnKey = false } = request;
    const available = credentials.availableProviders(scope);
    const hasKey = available instanceof Promise ? await available : available;
    const found = credentials.ownCredentials(scope);
    const own = found instanceof Promise ? await found : found;
    const candidates = usableCandidates(candidate, own, scope, hasKey(candidate.endpoint.provider));
    if (candidates.length === 0) throw forbiddenByKeys(candidate);
    const tools = ruledToolsIn(request.body, policies);
    const allowed = allowedCandidates(candidates, policies, candidate.model.slug, tools);
    const payable = isForOwnKey ? payableCandidates(api, parseRequest(request.body), allowed) : allowed;
    const asked = { ...request, reading: new RequestReading() };
    const answered = await this.#try(api, payable, asked, this.#answerer(api), () => true);
    this.#watch.answered(answered);
    return whole(answered);
  }

  /** Returns the API in which an endpoint that has answered was asked. */
  upstreamApiOf(api: CallableApi, endpoint: Endpoint): UpstreamApi {
    return this.#caller.upstreamApiOf(api, endpoint);
  }

  async #route<T>(
    api: RoutableApi,
    request: RoutedRequest,
    run: Run<T>,
    prepare?: (plan: RoutePlan) => Promise<void>,
  ): Promise<Attempted<T>> {
    const asked = request.reading === undefined ? { ...request, reading: new RequestReading() } : request;
    const planned = this.#planner.plan(api, asked);
    const plan = planned instanceof Promise ? await planned : planned;
    try {
      if (prepare) await prepare(plan);
      const served = await this.#try(api, plan.candidates, asked, run, this.#admits, plan);
      this.#remember(request, served);
      return served;
    } catch (thrown) {
      throw failedOnRoute(AppError.from(thrown), plan);
    }
  }

  /** Stores the endpoint that served a conversation, unless it was the only one considered. */
  #remember({ stickyKey }: RoutedRequest, { plan, model, endpoint }: Attempted<unknown>): void {
    const key = plan !== undefined && plan.considered.length > 1 ? stickyKey?.() : null;
    if (key) this.#sticky.served(key, model.slug, endpoint);
  }

  async #try<T>(
    api: RoutableApi,
    plan: readonly Candidate[],
    request: InferenceRequest,
    run: Run<T>,
    admits: Admission,
    route?: RoutePlan,
  ): Promise<Attempted<T>> {
    const { clock, health } = this.#parts;
    const { deadlineMs = this.deadlineMs() } = request;
    const attempts: Attempt[] = [];
    const errors: AppError[] = [];
    /** Candidates whose upstream failed. One whose upstream was not reached is not included. */
    const ailing: Candidate[] = [];
    const queue = new CandidateQueue(plan);
    for (let candidate = queue.next(); candidate !== null; candidate = queue.next()) {
      if (!this.#mayGoOn(request, deadlineMs, attempts)) break;
      if (!admits(candidate, ailing)) continue;
      queue.tried(candidate);
      const timed = timedNow(request, deadlineMs, queue.hasOtherModel(candidate));
      const outcome = await this.#attempt(api, candidate, timed, run);
      attempts.push(outcome.attempt);
      if (outcome.error === null) {
        const { model, endpoint, credential } = candidate;
        return { model, endpoint, credential, status: 200, attempts, plan: route, value: outcome.value };
      }
      throwLeft(outcome.error, attempts);
      errors.push(outcome.error);
      if (!outcome.error.retryable) queue.refused(candidate);
      else if (isUpstreamFault(outcome.error)) ailing.push(candidate);
    }
    if (attempts.length === 0 && clock() < deadlineMs) throw health.restingError(plan);
    throw noteAttempts(failedByAll(attempts, errors), attempts);
  }

  /** Returns whether there is time left. Throws if the caller has disconnected. */
  #mayGoOn({ signal }: InferenceRequest, deadlineMs: number, attempts: readonly Attempt[]): boolean {
    if (signal.aborted) throw noteAttempts(callCancelled(), attempts);
    return this.#parts.clock() < deadlineMs;
  }

  async #attempt<T>(
    api: RoutableApi,
    candidate: Candidate,
    request: TimedRequest,
    run: Run<T>,
  ): Promise<AttemptOutcome<T>> {
    const { clock, health } = this.#parts;
    const startMs = clock();
    try {
      const value = await run(candidate, request);
      health.succeeded(candidate.endpoint, candidate.credential);
      this.#calls.keys.note(candidate, request.scope ?? {}, null);
      return { attempt: attemptOf(api, candidate, null, clock() - startMs), error: null, value };
    } catch (thrown) {
      const error = AppError.from(thrown);
      this.#watch.failed(candidate, error);
      if (isPaid(error, request.deadlineMs - clock())) {
        noteLeftCall(error, candidate, () => this.#leftCharge(api, candidate, request, error));
      }
      this.#calls.keys.note(candidate, request.scope ?? {}, error);
      return { attempt: attemptOf(api, candidate, error, clock() - startMs), error, value: null };
    }
  }

  #leftCharge(api: RoutableApi, candidate: Candidate, request: TimedRequest, error: AppError): LeftCharge {
    if (isCallable(api)) return this.#caller.leftCharge(api, candidate, request, error);
    return this.#speech.leftCharge(candidate, request as TimedRequest & TranscriptionRequest);
  }

  #answerer(api: CallableApi): Run<Answered> {
    return (candidate, attempt) => this.#caller.answer(api, candidate, attempt);
  }
}

/** Throws the error of a call that is charged. No other endpoint is tried then, so that the request is charged once. */
function throwLeft(error: AppError, attempts: readonly Attempt[]): void {
  if (leftCallOf(error) !== null) throw noteAttempts(error, attempts);
}
