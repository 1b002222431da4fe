import { ChatCompletionDto, countEmbeddingsInputs, dayOfId, EmbeddingsDto, type Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  estimatePromptTokens,
  type InferenceEngine,
  type InferenceResult,
  type RoutedRequest,
  type StreamResult,
} from '@libs/inference';
import { durationHistogram, validateInstance } from '@libs/platform';
import type { GenerationRecorder } from '../generations/generation-recorder';
import type { GenerationTicket } from '../generations/generation-ticket';
import { answered, failed, streamed } from './call-outcome';
import { estimateHold } from './hold-estimate';
import type { InferenceRouting } from './inference-routing';
import { routeWishOf, type RouteWish } from './route-request';

/** A caller's request as it came in. */
export interface IncomingCall {
  readonly generationId: string;
  readonly caller: Principal;
  readonly body: Buffer;
  readonly parsed: unknown;
  /** Aborted when the caller has left or the process must stop; also by the service, when the money is refused. */
  readonly abort: AbortController;
}

/** A stream that has begun, and why it has to end early, once that is so. */
export interface OpenedStream extends StreamResult {
  readonly refusal: () => AppError | null;
}

type Api = 'chat' | 'embeddings';

interface PreparedCall extends IncomingCall {
  readonly api: Api;
  readonly route: RouteWish;
  readonly promptTokens: number;
  readonly startedMs: number;
  readonly ticket: GenerationTicket;
}

interface Expectation {
  readonly isStream: boolean;
  readonly maxTokens: number | null;
  readonly answers: number;
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

  /** Whether the body asks for a stream; the body is checked by `chat` and `chatStream`. */
  static wantsStream(parsed: unknown): boolean {
    return (parsed as { stream?: unknown } | null)?.stream === true;
  }

  /** @throws AppError for every refusal of the interface */
  async chat(call: IncomingCall): Promise<InferenceResult> {
    const prepared = this.prepareChat(call, false);
    return this.complete(prepared, () => this.engine.chat(routed(prepared)));
  }

  /** Resolves at the first event. @throws AppError until then */
  async chatStream(call: IncomingCall): Promise<OpenedStream> {
    const prepared = this.prepareChat(call, true);
    const { ticket, startedMs } = prepared;
    const result = await this.reach(prepared, () => this.engine.chatStream(routed(prepared)));
    const firstByteMs = this.nowMs();
    void result.stream.outcome.then((outcome) =>
      ticket.settle(streamed(result, outcome, { startedMs, firstByteMs, endedMs: this.nowMs() })),
    );
    return { ...result, refusal: () => ticket.refusal };
  }

  /** @throws AppError for every refusal of the interface */
  async embed(call: IncomingCall): Promise<InferenceResult> {
    const dto = validateInstance(EmbeddingsDto, call.parsed);
    const expectation = { isStream: false, maxTokens: null, answers: countEmbeddingsInputs(dto.input) };
    const prepared = this.prepare('embeddings', call, routeWishOf(dto), expectation);
    return this.complete(prepared, () => this.engine.embed(routed(prepared)));
  }

  private prepareChat(call: IncomingCall, isStream: boolean): PreparedCall {
    const dto = validateInstance(ChatCompletionDto, call.parsed);
    const maxTokens = dto.max_completion_tokens ?? dto.max_tokens ?? null;
    return this.prepare('chat', call, routeWishOf(dto), { isStream, maxTokens, answers: dto.n ?? 1 });
  }

  private prepare(api: Api, call: IncomingCall, route: RouteWish, expectation: Expectation): PreparedCall {
    const { generationId, caller, body } = call;
    const { organizationId, workspaceId, keyHash } = caller;
    if (workspaceId === null) throw new AppError('permission_denied', 'This key belongs to no workspace');
    const promptTokens = promptTokensOf(body);
    const models = [route.model, ...route.models];
    const holdPicoUsd = estimateHold(this.routing.catalogue(), { api, models, promptTokens, ...expectation });
    const opening = {
      id: generationId,
      createdOn: dayOf(generationId),
      organizationId,
      workspaceId,
      apiKeyHash: keyHash,
      api,
      model: route.model,
      streamed: expectation.isStream,
    };
    const ticket = this.recorder.open(opening, holdPicoUsd);
    return { ...call, api, route, promptTokens, startedMs: this.nowMs(), ticket };
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

function observeUpstream(api: Api, provider: string, seconds: number): void {
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

function routed({ generationId, body, abort, route, promptTokens, caller }: PreparedCall): Omit<RoutedRequest, 'api'> {
  return {
    ...route,
    generationId,
    body,
    signal: abort.signal,
    estimatedPromptTokens: promptTokens,
    scope: { workspaceId: caller.workspaceId ?? undefined, apiKeyHash: caller.keyHash },
  };
}
