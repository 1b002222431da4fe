import { AppError } from '@libs/errors';
import {
  APIS,
  callCancelled,
  Cancellation,
  failedRouteOf,
  leftCallOf,
  turnBody,
  type AnswerEvent,
  type Attempt,
  type InferenceEngine,
  type PicoUsd,
  type RoutedRequest,
  type Served,
  type StreamableApi,
  type StreamOutcome,
  type Turn,
  type TurnResult,
  monotonicMs,
} from '@libs/inference';
import { holdersOf } from '../http/claimant';
import { bytesForMedium, bytesForTexts } from '../http/fetched-bytes';
import { measuredPrompt, type MeasuredPdfs } from '../parsers/pdf-meter';
import { LoopBill } from './loop-bill';
import { LoopConversation } from './loop-conversation';
import { brokenBy, endOf, finishOf, OUT_OF_CREDIT, UNPAID, type LoopEnd } from './loop-end';
import { LoopMemory } from './loop-memory';
import { ResultBounds, RESULTS_TOO_LONG } from './result-bounds';
import type { ServerToolPlan } from './server-tool-plan';
import type { ToolContext, ToolOutcome } from './server-tool';
import { SourcePlacer } from './source-placer';
import { metCondition } from './stop-conditions';
import { privacyOf } from './request-privacy';
import { refusalToPay, type ToolFund } from './tool-fund';
import { runCalls, type FinishedCall, type ToolCall } from './tool-runner';
import { callIdsOf, outcomeEvents, TurnRelay, type RelayScope } from './turn-relay';

export type TurnEngine = Pick<InferenceEngine, 'converse' | 'deadlineMs'>;

export interface LoopRequest {
  readonly api: StreamableApi;
  readonly routed: RoutedRequest;
  readonly plan: ServerToolPlan;
  readonly caller: ToolContext['caller'];
  readonly memory: ToolContext['memory'];
  /** Files of the request whose tokens were measured. */
  readonly pdfs?: MeasuredPdfs;
  readonly fund: ToolFund;
  readonly isStream: boolean;
}

/** The content of a turn, and the amount that is reserved for it. */
type FundedTurn = Required<Pick<RoutedRequest, 'body' | 'prompt'>> & { readonly reserved: PicoUsd };

/** Prefix of the key that keeps turns at one provider if the conversation has no key; the id of the answer follows. */
const LOOP_KEY = 'loop ';

/**
 * One request as a conversation of several turns: the model answers, the gateway's tools that it called run, the model
 * reads their results and answers again. It ends when the model calls no gateway tool, calls a function of the caller,
 * or a condition ends the use of tools. In the last case the pending calls run, and in one last turn the model may not
 * call anything.
 *
 * Why the bill is complete: every turn is on it from its beginning, because its outcome settles however it ends, and
 * every tool from its end. `settled` waits for running turns.
 *
 * When the caller disconnects, the running turn and the running paid tools are read on for their usage; nothing else
 * begins.
 *
 * Every turn is routed like a separate request, with all attempts, and stays at the endpoint of the previous turn while
 * that works. The deadline and the abort of the request apply to all of it.
 */
export class ToolLoop {
  readonly bill = new LoopBill();
  /** All upstream calls of all turns. */
  readonly attempts: Attempt[] = [];
  /** Name of the condition that ended the use of tools. */
  stoppedBy: string | null = null;
  steps = 0;
  readonly #abort: Cancellation;
  readonly #deadlineMs: number;
  readonly #scope: RelayScope;
  readonly #sources = new SourcePlacer();
  readonly #underWay: Promise<void>[] = [];
  readonly #conversation: LoopConversation;
  readonly #bounds = new ResultBounds();
  readonly #memory: LoopMemory;
  /** Data rules of the original request, read once: content that turns add is not the caller's. */
  #privacy: ReturnType<typeof privacyOf> | null = null;
  #turn: Turn | null = null;
  #served: Served | null = null;
  #isLastTurn = false;
  #end: LoopEnd | null = null;

  constructor(
    private readonly engine: TurnEngine,
    private readonly request: LoopRequest,
    private readonly clock: () => number = monotonicMs,
  ) {
    const { routed, plan, api } = request;
    this.#abort = Cancellation.following(routed.signal);
    this.#deadlineMs = routed.deadlineMs ?? engine.deadlineMs();
    this.#conversation = new LoopConversation(plan.conversation);
    this.#memory = new LoopMemory(request.memory);
    let parts = 0;
    this.#scope = {
      tools: plan.tools,
      showsItems: APIS[api].tools.showsItems,
      nextPart: () => parts++,
      callIds: callIdsOf(plan.conversation),
    };
  }

  /** The endpoint of the latest turn. */
  get served(): Served {
    return this.#served!;
  }

  /** Null until the events are over. */
  get end(): LoopEnd | null {
    return this.#end;
  }

  /** Begins the first turn. @throws AppError if no provider answered it; nothing is charged then */
  async open(): Promise<void> {
    this.#turn = await this.#converse(await this.#nextTurn());
  }

  /** Handles that the caller has disconnected: ends the work of tools, and reads a running turn on for its usage. */
  cancel(): void {
    this.#abort.leave();
    this.#turn?.cancel();
  }

  /** Resolves when the bill holds everything that was used. */
  async settled(): Promise<void> {
    // Running work may add to the list.
    for (const part of this.#underWay) await part;
  }

  /** Yields the events of the answer, ending with one finish; none after a failure. Iterate once, after `open`. */
  async *events(): AsyncGenerator<AnswerEvent> {
    yield { type: 'start', upstreamId: null, createdAt: null };
    try {
      for (;;) {
        const relay = new TurnRelay(this.#scope, !this.#isLastTurn, this.#hidesSeals());
        const outcome = yield* this.#speak(relay);
        if (!(yield* this.#goesOn(relay, outcome))) return;
        const next = await this.#nextTurn().catch(refusalToPay);
        if (next === null) {
          this.stoppedBy = OUT_OF_CREDIT;
          this.#end = UNPAID;
          yield finishOf(UNPAID);
          return;
        }
        this.#turn = await this.#converse(next);
      }
    } catch (thrown) {
      this.#fail(AppError.from(thrown));
    }
  }

  /** True if encrypted thoughts are only for the next turn: the caller asked neither for them nor for thoughts. */
  #hidesSeals(): boolean {
    const { reasoning, wantsSealedThoughts } = this.request.plan.conversation;
    return reasoning === undefined && wantsSealedThoughts !== true && this.served.endpoint.apis.includes('responses');
  }

  async *#speak(relay: TurnRelay): AsyncGenerator<AnswerEvent, StreamOutcome> {
    const turn = this.#turn!;
    for await (const events of turn) {
      for (const passed of events.flatMap((event) => [...relay.pass(event)])) yield* this.#sources.pass(passed);
    }
    const outcome = await turn.outcome;
    const isLast = relay.calls.length === 0 || relay.hasOtherCalls || outcome.state !== 'completed';
    yield* this.#sources.endTurn(isLast);
    return outcome;
  }

  /** Runs the tools that the turn called. Returns false if the answer is over. */
  async *#goesOn(relay: TurnRelay, outcome: StreamOutcome): AsyncGenerator<AnswerEvent, boolean> {
    const { calls } = relay;
    for (const _call of calls) this.bill.addRequested();
    const isOver = outcome.state !== 'completed' || calls.length === 0;
    if (!isOver) {
      this.steps += 1;
      const results = yield* this.#runTools(relay);
      if (!relay.hasOtherCalls) {
        this.#conversation.grow(relay, results);
        this.#checkStop(relay, outcome);
        return true;
      }
    }
    this.#end = endOf(outcome, relay);
    if (outcome.error === null && outcome.state !== 'cancelled') yield finishOf(this.#end);
    return false;
  }

  async *#runTools({ calls }: TurnRelay): AsyncGenerator<AnswerEvent, ReadonlyMap<string, ToolOutcome>> {
    if (this.#abort.aborted) throw callCancelled();
    const { caller, routed, fund } = this.request;
    this.#bounds.beginTurn();
    const memory = this.#memory.beginTools();
    const work = { holders: holdersOf(caller), memory, signal: this.#abort.toAbortSignal() };
    const privacy = (this.#privacy ??= privacyOf(routed, this.request.plan.conversation));
    const context = { caller, generationId: routed.generationId, cancellation: this.#abort, ...work, ...privacy };
    const results = new Map<string, ToolOutcome>();
    const onEnd = ({ call, outcome }: FinishedCall): void => this.bill.addUse(call.tool.name, outcome);
    const onBegin = (over: Promise<void>): void => void this.#underWay.push(over);
    const onLate = ({ tool }: ToolCall, outcome: ToolOutcome, wasCounted: boolean): void =>
      wasCounted ? this.bill.addLateCost(outcome) : this.bill.addUse(tool.name, outcome);
    const hooks = { refusal: () => this.#bounds.refusal, onBegin, onEnd, onLate };
    const settings = { leftMs: this.#deadlineMs - this.clock(), fund, ...hooks };
    for await (const { call, outcome: whole } of runCalls(calls, context, settings)) {
      const outcome = this.#bounds.admit(whole);
      results.set(call.id, outcome);
      this.#sources.add(outcome.sources ?? []);
      yield* outcomeEvents(call, outcome, this.#scope);
    }
    return results;
  }

  #checkStop(relay: TurnRelay, { finishReason, nativeFinishReason }: StreamOutcome): void {
    const { usage, cost } = this.bill.charge;
    const met = metCondition(this.request.plan.stopWhen, {
      steps: this.steps,
      called: relay.called,
      totalTokens: usage.totalTokens,
      cost: cost.totalCost,
      finishReason,
      nativeFinishReason,
    });
    if (met === null && !this.#bounds.isFull) return;
    this.stoppedBy = met?.name ?? RESULTS_TOO_LONG;
    this.#isLastTurn = true;
    this.#conversation.endTools();
  }

  /**
   * The memory of the request is already reserved; memory for the additions is reserved before they are written.
   * @throws AppError payment_required if the next turn cannot be paid; provider_overloaded
   */
  async #nextTurn(): Promise<FundedTurn> {
    const pictures = this.request.isStream ? 0 : this.#bounds.pictureBytes;
    const bytes = bytesForTexts(this.#conversation.grownBytes) + bytesForMedium(pictures);
    await this.#memory.settle(bytes);
    const body = turnBody(this.#conversation.current);
    const prompt = measuredPrompt(body, this.request.pdfs);
    return { body, prompt, reserved: await this.request.fund.reserveTurn(prompt) };
  }

  /** Runs a turn. It is charged even if its caller disconnects before its first event. */
  async #converse(next: FundedTurn): Promise<Turn> {
    const turn = this.#ask(next);
    const onFailure = (thrown: unknown): void => {
      const left = leftCallOf(thrown);
      if (left !== null) this.#charge(left, next.reserved);
    };
    this.#underWay.push(turn.then(() => undefined, onFailure));
    return turn;
  }

  #charge(turn: Parameters<LoopBill['addTurn']>[0], reserved: PicoUsd): void {
    this.bill.addTurn(turn);
    this.request.fund.spent(reserved, turn.cost);
  }

  async #ask({ reserved, ...next }: FundedTurn): Promise<Turn> {
    const { api, routed, isStream } = this.request;
    const asked = {
      ...routed,
      ...next,
      parsed: undefined,
      conversation: this.#conversation.current,
      signal: this.#abort,
      deadlineMs: this.#deadlineMs,
      // Functions that the model does not see count as well, because they may be found at any time.
      estimatedPromptTokens: Math.max(next.prompt.likelyTokens, routed.estimatedPromptTokens ?? 0),
      stickyKey: () => routed.stickyKey?.() ?? LOOP_KEY + routed.generationId,
    };
    const { turn, ...served }: TurnResult = await this.engine.converse(api, asked, isStream);
    this.attempts.push(...served.attempts);
    this.#served = { ...served, attempts: this.attempts };
    const last = this.attempts.length - 1;
    const onEnd = (outcome: StreamOutcome): void => {
      this.#charge({ ...served, ...outcome }, reserved);
      // A turn that failed in the middle of its stream is recorded as failed.
      this.attempts[last] = served.attempts.at(-1)!;
    };
    this.#underWay.push(turn.outcome.then(onEnd));
    if (this.#abort.aborted) turn.cancel();
    return turn;
  }

  /** Ends the answer with an error that comes after the first turn. */
  #fail(error: AppError): void {
    this.attempts.push(...(failedRouteOf(error)?.attempts ?? []));
    this.#end = brokenBy(error, this.#abort.aborted);
  }
}
