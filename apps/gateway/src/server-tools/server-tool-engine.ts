import type { AppError } from '@libs/errors';
import {
  AnswerFold,
  callCancelled,
  APIS,
  refuseKeepers,
  usdNumber,
  type AnswerContext,
  type Bill,
  type CanonicalAnswer,
  type EndpointNeed,
  type InferenceResult,
  type PipelineStage,
  type RetentionFacts,
  type RoutedRequest,
  type Served,
  type StreamableApi,
  type StreamResult,
} from '@libs/inference';
import type { AskedCall, GenerationSearch } from '@libs/persistence';
import type { IncomingCall } from '../generations/incoming-call';
import { LoopStream } from './loop-stream';
import type { Fields } from './named-tools';
import type { ServerToolPlan, ServerToolPlanner } from './server-tool-plan';
import type { ToolFund } from './tool-fund';
import type { LoopEnd } from './loop-end';
import { ToolLoop, type TurnEngine } from './tool-loop';

/** What an answer in several turns reports in addition to the answer itself. */
export interface LoopServed {
  /** Returns the tools' stages for the metadata, at the time of the call. */
  readonly stages: () => readonly PipelineStage[];
  /** Returns the web searches that tools have made, at the time of the call. */
  readonly search?: () => GenerationSearch | undefined;
  /** Returns the calls to models that tools have made, at the time of the call. */
  readonly asked?: () => readonly AskedCall[] | undefined;
  /** Returns the turns on the operator's key so far, if the turns ran on different keys or at different endpoints. */
  readonly turns?: () => readonly AskedCall[] | undefined;
  /** Whether later turns contain the request, so that its memory stays reserved while the answer is streamed. */
  readonly keepsRequest?: boolean;
}

export interface LoopResult extends InferenceResult, LoopServed {
  /**
   * Set if the caller disconnected before the end, or if its API has no form for an answer that broke off. The usage is
   * charged, and the caller gets this error.
   */
  readonly interruption: AppError | null;
}

/** The parts of a call that its tools may use. */
type CallOwner = Pick<IncomingCall, 'caller' | 'memory' | 'pdfs'>;

/** Answers one request in several turns, in place of the engine, which answers in one. */
export class ServerToolCall {
  constructor(
    private readonly engine: TurnEngine,
    private readonly api: StreamableApi,
    private readonly plan: ServerToolPlan,
    private readonly call: CallOwner,
  ) {}

  /** Returns a whole answer. @throws AppError if the first turn had none, so that there is nothing to charge */
  async answer(routed: RoutedRequest, fund: ToolFund): Promise<LoopResult> {
    const loop = await this.#open(routed, fund, false);
    const fold = new AnswerFold();
    for await (const event of loop.events()) fold.add(event);
    await loop.settled();
    const end = loop.end!;
    const { bill, charge } = loop.bill;
    const context = contextOf(loop.served, routed);
    const written = APIS[this.api].caller.writeAnswer(answerOf(fold, end, bill), bill, context, routed.parsed);
    return {
      ...loop.served,
      ...charge,
      body: Buffer.from(JSON.stringify(written)),
      finishReason: end.finishReason ?? 'error',
      nativeFinishReason: end.nativeFinishReason,
      upstreamId: end.upstreamId,
      interruption: interruptionOf(end, this.api),
      stages: () => [stageOf(loop)],
      search: () => loop.bill.search,
      asked: () => loop.bill.asked,
      turns: () => loop.bill.turns,
    };
  }

  /** Resolves when the first turn has begun to speak. @throws AppError until then */
  async stream(routed: RoutedRequest, fund: ToolFund): Promise<StreamResult & LoopServed> {
    const loop = await this.#open(routed, fund, true);
    const writer = APIS[this.api].caller.writeStream(contextOf(loop.served, routed), routed.parsed);
    const stream = new LoopStream(loop, writer);
    const { bill } = loop;
    const facts = { search: () => bill.search, asked: () => bill.asked, turns: () => bill.turns };
    return { ...loop.served, stream, stages: () => [stageOf(loop)], ...facts, keepsRequest: true };
  }

  async #open(routed: RoutedRequest, fund: ToolFund, isStream: boolean): Promise<ToolLoop> {
    const { api, plan, call } = this;
    const loop = new ToolLoop(this.engine, { api, routed, plan, ...call, fund, isStream });
    await loop.open();
    return loop;
  }
}

/** Creates the calls of requests that name tools of the gateway. */
export class ServerToolEngine {
  constructor(
    private readonly engine: TurnEngine,
    private readonly planner: ServerToolPlanner,
  ) {}

  /**
   * Returns null for a request that the engine answers by itself. `body` is validated.
   * @throws AppError invalid_request with the name of the field; the errors of `refuseKeepers` for a tool that sends
   * text to an external service
   */
  callFor(
    api: StreamableApi,
    body: unknown,
    models: readonly string[],
    call: CallOwner & { readonly retention: RetentionFacts },
  ): ServerToolCall | null {
    const plan = this.planner.plan(api, body as Fields, models, call.caller.settings);
    if (plan === null) return null;
    const keepers = [...plan.tools.values()].flatMap(({ bound: { keeper } }) => keeper ?? []);
    refuseKeepers(call.retention, models, keepers);
    return new ServerToolCall(this.engine, api, plan, toOwner(call));
  }

  /** Returns what an endpoint must support for a request that is not answered in turns. `body` is validated. */
  needsOf(api: StreamableApi, body: unknown, models: readonly string[]): readonly EndpointNeed[] {
    return this.planner.needsOf(api, body as Fields, models);
  }
}

function toOwner({ caller, memory, pdfs }: CallOwner): CallOwner {
  return { caller, memory, ...(pdfs !== undefined && { pdfs }) };
}

function answerOf(fold: AnswerFold, end: LoopEnd, { usage }: Bill): CanonicalAnswer {
  const { finishReason, nativeFinishReason, upstreamId, serviceTier, error } = end;
  const { parts, logprobs } = fold;
  const choice = { parts, finishReason: finishReason ?? ('error' as const), nativeFinishReason };
  return {
    upstreamId,
    createdAt: null,
    choices: [logprobs.length > 0 ? { ...choice, logprobs } : choice],
    usage,
    ...(serviceTier !== undefined && { serviceTier }),
    ...(error && { failure: error }),
  };
}

function interruptionOf({ state, error }: LoopEnd, api: StreamableApi): AppError | null {
  if (state === 'cancelled') return callCancelled();
  return APIS[api].tools.failsWhole ? error : null;
}

function contextOf(
  { model, endpoint }: Served,
  { generationId, body, priceList = 'standard' }: RoutedRequest,
): AnswerContext {
  return { generationId, model, endpoint, priceList, beganMs: Date.now(), requestBody: body };
}

function stageOf({ bill, steps, stoppedBy }: ToolLoop): PipelineStage {
  const { tools } = bill.bill;
  return {
    type: 'server_tools',
    name: 'server-tools',
    summary: `steps=${steps}, requested=${tools.requested}, executed=${tools.executed}`,
    cost_usd: usdNumber(tools.cost),
    data: { steps, uses: bill.uses, stopped_by: stoppedBy },
  };
}
