import { dayOfId } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  estimatePromptTokens,
  failedRouteOf,
  routingMetadata,
  translationStage,
  type CallableApi,
  type InferenceEngine,
  type InferenceResult,
  type RoutedRequest,
  type RoutePlan,
  type RoutingMetadata,
  type Served,
  type StreamableApi,
  type StreamResult,
} from '@libs/inference';
import { durationHistogram } from '@libs/platform';
import type { GenerationRecorder } from '../generations/generation-recorder';
import type { GenerationTicket } from '../generations/generation-ticket';
import { answered, failed, streamed } from './call-outcome';
import { checkCall, routedRequest, type CheckedCall, type IncomingCall } from './checked-call';
import { estimateHold } from './hold-estimate';
import type { InferenceRouting } from './inference-routing';
import { routeWishOf } from './route-request';

/** A stream that has begun, and why it has to end early, once that is so. */
export interface OpenedStream extends StreamResult {
  readonly refusal: () => AppError | null;
}

interface PreparedCall {
  readonly api: CallableApi;
  readonly request: RoutedRequest;
  readonly abort: AbortController;
  readonly startedMs: number;
  readonly ticket: GenerationTicket;
}

const upstreamTime = durationHistogram({
  name: 'sluice_upstream_first_byte_seconds',
  help: 'From the call to the provider to its answer, or the first event of it',
  labelNames: ['api', 'provider'],
});

/**
 * One inference call: check it, put it on the books, route it, charge it. The ticket is ended on every way
 * out, so nothing is held for a call that is over.
 */
export class InferenceService {
  constructor(
    private readonly engine: InferenceEngine,
    private readonly routing: InferenceRouting,
    private readonly recorder: GenerationRecorder,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Whether the body asks for a stream; the body is checked by `answer` and `stream`. */
  static wantsStream(parsed: unknown): boolean {
    return (parsed as { stream?: unknown } | null)?.stream === true;
  }

  /** @throws AppError for every refusal of the interface */
  async answer(api: CallableApi, call: IncomingCall): Promise<InferenceResult> {
    const prepared = this.prepare(api, call, false);
    return this.complete(prepared, () => this.engine.answer(api, prepared.request));
  }

  /** Resolves when the stream is one. @throws AppError until then */
  async stream(api: StreamableApi, call: IncomingCall): Promise<OpenedStream> {
    const prepared = this.prepare(api, call, true);
    const { ticket, startedMs } = prepared;
    const result = await this.reach(prepared, () => this.engine.stream(api, prepared.request));
    const firstByteMs = this.nowMs();
    void result.stream.outcome.then((outcome) =>
      ticket.settle(streamed(result, outcome, { startedMs, firstByteMs, endedMs: this.nowMs() })),
    );
    return { ...result, refusal: () => ticket.refusal };
  }

  /**
   * The tokens of a prompt for `messages`, by the provider that would answer where it can count, else
   * estimated. Nothing is charged. @throws AppError for every refusal of the interface
   */
  async countTokens(call: IncomingCall): Promise<number> {
    const { route } = checkCall('messages', call.parsed);
    workspaceOf(call);
    const promptTokens = promptTokensOf(call.body);
    const counted = await this.engine.countTokens(routedRequest('messages', call, route, promptTokens));
    return counted ?? promptTokens;
  }

  /** What the `<service>_metadata` member tells of an answer. */
  metadataOf(api: CallableApi, served: Served, generationMs: number): RoutingMetadata | null {
    const { plan, attempts, losses, endpoint } = served;
    if (plan === undefined) return null;
    const stage = translationStage(api, this.routing.upstreamApi(endpoint, api) ?? api, losses);
    return routingMetadata({ plan, attempts, served, generationMs, pipeline: stage === null ? [] : [stage] });
  }

  /** What it tells of a call that failed on its way; null for one that never set out. */
  failureMetadata(thrown: unknown, parsed: unknown): RoutingMetadata | null {
    if (!(thrown instanceof AppError)) return null;
    const route = failedRouteOf(thrown);
    if (route !== null) return routingMetadata({ ...route, served: null });
    if (thrown.metadata?.['availability'] === undefined) return null;
    const { model } = routeWishOf(parsed as Parameters<typeof routeWishOf>[0]);
    return routingMetadata({ plan: unplanned(model), attempts: [], served: null });
  }

  private prepare(api: CallableApi, call: IncomingCall, isStream: boolean): PreparedCall {
    const { route, ...expected }: CheckedCall = checkCall(api, call.parsed);
    const { generationId, body, abort } = call;
    const { organizationId, keyHash } = call.caller;
    const workspaceId = workspaceOf(call);
    const promptTokens = promptTokensOf(body);
    const request = routedRequest(api, call, route, promptTokens);
    const models = [route.model, ...route.models];
    const holdPicoUsd = estimateHold(this.routing.catalogue(), { api, models, promptTokens, ...expected });
    const opening = {
      id: generationId,
      createdOn: dayOf(generationId),
      organizationId,
      workspaceId,
      apiKeyHash: keyHash,
      api,
      model: route.model,
      streamed: isStream,
    };
    const ticket = this.recorder.open(opening, holdPicoUsd);
    return { api, request, abort, startedMs: this.nowMs(), ticket };
  }

  private async complete(call: PreparedCall, ask: () => Promise<InferenceResult>): Promise<InferenceResult> {
    const result = await this.reach(call, ask);
    const endedMs = this.nowMs();
    call.ticket.settle(answered(result, { startedMs: call.startedMs, firstByteMs: endedMs, endedMs }));
    return result;
  }

  /** Makes the call once its money is there, and ends it when the money turns out not to be. */
  private async reach<T extends InferenceResult | StreamResult>(call: PreparedCall, ask: () => Promise<T>): Promise<T> {
    const { ticket, abort, api, startedMs } = call;
    try {
      const { covered } = ticket;
      if (covered === null) ticket.onRefused(() => abort.abort());
      else await covered;
      const result = await ask();
      observeUpstream(api, result.endpoint.provider.slug, (this.nowMs() - startedMs) / 1_000);
      return result;
    } catch (thrown) {
      const error = ticket.refusal ?? AppError.from(thrown);
      if (error.metadata?.['availability'] === undefined) {
        ticket.settle(failed(error, abort.signal.aborted, startedMs, this.nowMs()));
      } else {
        // No provider was asked: the request could not be routed.
        ticket.withdraw();
      }
      throw error;
    }
  }
}

/** Thousands of ids in a row name the same second, and so the same day. */
let lastSecond = '';
let lastDay = '';

function dayOf(generationId: string): string {
  const second = generationId.slice(0, generationId.lastIndexOf('-'));
  if (second !== lastSecond) {
    lastDay = dayOfId(generationId) ?? '';
    lastSecond = second;
  }
  return lastDay;
}

interface Observer {
  observe(seconds: number): void;
}

/** Looking a series up by its labels costs more than counting in it. */
const observers = new Map<string, Observer>();

function observeUpstream(api: CallableApi, provider: string, seconds: number): void {
  const key = `${api} ${provider}`;
  let observer = observers.get(key);
  if (observer === undefined) observers.set(key, (observer = upstreamTime.labels({ api, provider })));
  observer.observe(seconds);
}

function promptTokensOf(body: Buffer): number {
  try {
    return estimatePromptTokens(body);
  } catch (error) {
    throw new AppError('invalid_request', 'The request body cannot be read: it is not valid JSON', { cause: error });
  }
}

/** Nothing could serve, so there is no plan to tell of. */
function unplanned(requested: string): RoutePlan {
  return { candidates: [], considered: [], requested, resolved: null, namedBy: 'direct' };
}

function workspaceOf({ caller: { workspaceId } }: IncomingCall): string {
  if (workspaceId === null) throw new AppError('permission_denied', 'This key belongs to no workspace');
  return workspaceId;
}
