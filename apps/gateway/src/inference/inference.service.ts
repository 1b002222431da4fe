import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  APIS,
  callCancelled,
  failedRouteOf,
  InferenceEngine,
  isConversationApi,
  leftCallOf,
  routingMetadata,
  toAbortSignal,
  translationStage,
  type CallableApi,
  type FailedRoute,
  type CountedPrompt,
  type InferenceResult,
  type PicoUsd,
  type PipelineStage,
  type PromptEstimate,
  type RoutingMetadata,
  type Served,
  type StreamableApi,
  type StreamResult,
} from '@libs/inference';
import { countsByok } from '@libs/persistence';
import { GenerationRecorder } from '../generations/generation-recorder';
import type { CallOutcome } from '../generations/generation-ticket';
import type { PluginRun } from '../plugins/plugin-run';
import { Plugins } from '../plugins/plugins';
import { InferenceLimits, type ExpectedTokens } from '../limits/inference-limits';
import { ServerToolEngine, type LoopResult, type LoopServed } from '../server-tools/server-tool-engine';
import { CallFund } from '../generations/call-fund';
import { withoutPrompt } from './call-details';
import { causeOf, openingOf, promptOf, workspaceOf } from './call-facts';
import { noteFailedCall } from './call-failure';
import { answered, failed, streamed, type Failure } from './call-outcome';
import { checkCall, routedRequest, type CheckedCall } from './checked-call';
import type { IncomingCall } from '../generations/incoming-call';
import { PdfMeter } from '../parsers/pdf-meter';
import { hasUnmeasuredPdfs, measureCall } from './measured-call';
import { HELD_TURNS } from '../routing/hold-estimate';
import { InferenceRouting } from '../routing/inference-routing';
import type { Aim, PreparedCall } from './prepared-call';
import { observeUpstream } from './upstream-time';

/** A stream that has begun, and why it has to end early, once that is so. */
export interface OpenedStream extends StreamResult, Partial<LoopServed> {
  readonly refusal: () => AppError | null;
}

/** Estimate of a prompt that plugins may still shorten: it counts as too long for no endpoint. */
const UNKNOWN_PROMPT: PromptEstimate = { tokens: 0, likelyTokens: 0, unlikelyMediaTokens: 0, kinds: null, pdfs: [] };

/** Counts as a request, and uses no tokens. */
const NOTHING_GENERATED: ExpectedTokens = { promptTokens: 0, maxTokens: null, answers: 0 };

/**
 * Runs one inference call: checks it, puts it on the books, routes it and charges it. The ticket is ended on every way
 * out, so nothing is held for a call that is over.
 */
@Injectable()
export class InferenceService {
  constructor(
    private readonly engine: InferenceEngine,
    private readonly routing: InferenceRouting,
    private readonly recorder: GenerationRecorder,
    private readonly serverTools: ServerToolEngine,
    private readonly plugins: Plugins,
    private readonly limits: InferenceLimits,
    private readonly pdfs: PdfMeter,
  ) {}

  /** Whether the body asks for a stream; the body is checked by `answer` and `stream`. */
  static wantsStream(parsed: unknown): boolean {
    return (parsed as { stream?: unknown } | null)?.stream === true;
  }

  /** @throws AppError for every refusal of the interface */
  async answer(api: CallableApi, incoming: IncomingCall): Promise<InferenceResult> {
    const call = hasUnmeasuredPdfs(incoming) ? await this.measured(api, incoming) : incoming;
    const prepared = this.prepare(api, call, false);
    const { plugins, ticket, startedMs, abort } = prepared;
    const result = await this.reach<InferenceResult & Partial<LoopResult>>(prepared, ({ request, turns }) =>
      turns === null ? this.engine.answer(api, request) : turns.answer(request, prepared.fund),
    );
    const endedMs = performance.now();
    const interruption = result.interruption ?? (abort.aborted ? callCancelled() : null);
    const ended = interruption === null ? result : { ...result, interruption };
    settle(prepared, answered(prepared, ended, { startedMs, firstByteMs: endedMs, endedMs }));
    if (interruption) throw this.failedAfter(prepared, result, ticket.refusal ?? interruption);
    if (plugins === null) return result;
    try {
      return plugins.told(await plugins.finish(result));
    } catch (thrown) {
      throw this.failedAfter(prepared, result, AppError.from(thrown));
    }
  }

  /** Resolves when the first event has arrived. @throws AppError until then */
  async stream(api: StreamableApi, incoming: IncomingCall): Promise<OpenedStream> {
    const call = hasUnmeasuredPdfs(incoming) ? await this.measured(api, incoming) : incoming;
    const prepared = this.prepare(api, call, true);
    const result = await this.reach<StreamResult & Partial<LoopServed>>(prepared, ({ request, turns }) =>
      turns === null ? this.engine.stream(api, request) : turns.stream(request, prepared.fund),
    );
    failpoint('stream-begun');
    return this.opened(prepared, result);
  }

  /**
   * Returns the tokens of a prompt for `messages`, as counted by the provider that would answer if it can count, else
   * estimated. Nothing is charged. @throws AppError for every refusal of the interface
   */
  async countTokens(call: IncomingCall): Promise<number> {
    const { route } = checkCall('messages', call.parsed);
    const { likelyTokens: promptTokens } = promptOf(call);
    await this.limits.admit(workspaceOf(call), NOTHING_GENERATED)?.decided;
    // It costs nothing, so nothing is read for it once its caller has disconnected.
    const request = { ...routedRequest('messages', call, route, promptTokens), signal: toAbortSignal(call.abort) };
    return (await this.engine.countTokens(request)) ?? promptTokens;
  }

  /** Returns the value of the `<service>_metadata` member of an answer; null if no route was planned. */
  metadataOf(api: CallableApi, served: Served & Partial<LoopServed>, generationMs: number): RoutingMetadata | null {
    const { plan, attempts, losses, endpoint } = served;
    if (plan === undefined) return null;
    const translation = translationStage(api, this.routing.upstreamApi(endpoint, api) ?? api, losses);
    const pipeline = [...(translation === null ? [] : [translation]), ...(served.stages?.() ?? [])];
    return routingMetadata({ plan, attempts, served, generationMs, pipeline });
  }

  /** Returns the opened stream. What is kept while it goes on contains nothing of its prompt. */
  private opened(prepared: PreparedCall, result: StreamResult & Partial<LoopServed>): OpenedStream {
    const { ticket, plugins, admission, startedMs, abort } = prepared;
    const recorded = withoutPrompt(prepared);
    const firstByteMs = performance.now();
    void result.stream.outcome.then((ended) => {
      // A stream may also come to its end between the disconnection and its first event.
      const outcome = abort.aborted && ended.error === null ? { ...ended, state: 'cancelled' as const } : ended;
      const times = { startedMs, firstByteMs, endedMs: performance.now() };
      settle({ ticket, plugins, admission }, streamed(recorded, result, outcome, times));
    });
    const opened = { ...result, refusal: () => ticket.refusal };
    return plugins === null ? opened : plugins.told({ ...opened, stream: plugins.open(result) });
  }

  /** What a plugin puts text in the place of is not measured. @throws AppError for a body that does not fit its API */
  private async measured(api: CallableApi, call: IncomingCall): Promise<IncomingCall> {
    const checked = checkCall(api, call.parsed, call.caller.settings);
    if (this.pluginsFor(api, call, checked)?.replacesFiles === true) return call;
    return measureCall(this.pdfs, call);
  }

  private pluginsFor(api: CallableApi, call: IncomingCall, checked: CheckedCall): PluginRun | null {
    return isConversationApi(api) ? this.plugins.runFor(api, call, checked) : null;
  }

  private prepare(api: CallableApi, incoming: IncomingCall, isStream: boolean): PreparedCall {
    const call = { ...incoming, ownKeys: this.routing.ownKeysOf(incoming.caller) };
    const checked = checkCall(api, call.parsed, call.caller.settings);
    const { route, answers: choices, maxTokens } = checked;
    const prompt = promptOf(call);
    const { tokens: mostTokens, likelyTokens, kinds } = prompt;
    const aim = this.aimOf(api, call, checked, prompt);
    const plugins = this.pluginsFor(api, call, checked);
    const models = [route.model, ...route.models];
    const usage = { ...expectedOf(checked, aim), api, models };
    const turnPicoUsd = ({ tokens: promptTokens, kinds: promptKinds }: CountedPrompt): PicoUsd =>
      this.routing.holdFor(call.caller, { ...usage, promptTokens, promptKinds }, call.ownKeys);
    // The text that takes the place of files is reserved when it is there.
    const heldTokens = plugins?.replacesFiles === true ? likelyTokens : mostTokens;
    const answerPicoUsd = turnPicoUsd({ tokens: heldTokens, kinds }) * (aim.turns === null ? 1n : HELD_TURNS);
    const opening = openingOf(call, { api, model: route.model, streamed: isStream });
    const answers = APIS[api].generates ? choices : 0;
    const tokens = { promptTokens: likelyTokens, maxTokens, answers };
    // Asks Redis while the hold is written to PostgreSQL.
    const admission = this.limits.admit(opening.workspaceId, tokens);
    const ticket = this.recorder.open(opening, answerPicoUsd + (plugins?.mostPicoUsd ?? 0n), causeOf(call));
    const fund = new CallFund(ticket, turnPicoUsd, countsByok(opening));
    const { abort } = call;
    return { api, call, checked, aim, plugins, abort, startedMs: performance.now(), ticket, fund, admission };
  }

  private aimOf(api: CallableApi, call: IncomingCall, checked: CheckedCall, prompt: PromptEstimate): Aim {
    const { route } = checked;
    const routed = { ...routedRequest(api, call, route, prompt.likelyTokens), prompt };
    if (!isConversationApi(api)) return { request: routed, turns: null };
    const models = [route.model, ...route.models];
    const turns = this.serverTools.callFor(api, call.parsed, models, { ...call, retention: routed });
    const request = { ...routed, expected: () => expectedOf(checked, { turns }) };
    const needs = turns === null ? this.serverTools.needsOf(api, call.parsed, models) : [];
    return { request: needs.length === 0 ? request : { ...request, needs }, turns };
  }

  /** Makes the call once its money is there, and ends it when the money turns out not to be. */
  private async reach<T extends InferenceResult | StreamResult>(
    call: PreparedCall,
    ask: (aim: Aim) => Promise<T>,
  ): Promise<T> {
    const { ticket, abort, api, startedMs, admission } = call;
    let isAdmitted = admission === null;
    try {
      if (admission !== null) await admission.decided;
      isAdmitted = true;
      const { covered } = ticket;
      if (covered === null) ticket.onRefused(() => abort.abort());
      else await covered;
      failpoint('call-covered');
      const result = await ask(call.plugins === null ? call.aim : await this.aimThrough(call.plugins, call));
      observeUpstream(api, result.endpoint.provider.slug, (performance.now() - startedMs) / 1_000);
      return result;
    } catch (thrown) {
      throw this.fail(call, thrown, isAdmitted);
    }
  }

  /** Ends a failed call, and returns the error that its caller gets. */
  private fail(call: PreparedCall, thrown: unknown, isAdmitted: boolean): AppError {
    const { ticket, plugins } = call;
    const error = ticket.refusal ?? AppError.from(thrown);
    const route = thrown instanceof AppError ? failedRouteOf(thrown) : null;
    const outcome = this.failure(call, { error, route, left: leftCallOf(thrown) });
    call.admission?.used(outcome.promptTokens + outcome.completionTokens);
    // A request that was not let in, or could not be routed, has asked no provider, unless a plugin did.
    const hasAsked = isAdmitted && error.availability === undefined;
    if (hasAsked || outcome.costPicoUsd > 0n) ticket.settle(outcome);
    else ticket.withdraw(outcome);
    return this.noted(call, error, route, plugins?.stages);
  }

  /** Returns the outcome of a failed call; what its plugins did is charged all the same. */
  private failure(
    call: PreparedCall,
    { error, route, left }: Pick<Failure, 'error' | 'left'> & { readonly route: FailedRoute | null },
  ): CallOutcome {
    const { abort, startedMs, plugins } = call;
    const { attempts = [] } = route ?? {};
    const failure = { error, isCancelled: abort.aborted, attempts, left };
    const ended = failed(call, failure, { startedMs, endedMs: performance.now() });
    return plugins === null ? ended : plugins.charged(ended);
  }

  /** The error of a call that a provider had answered, at least in part. */
  private failedAfter(
    call: PreparedCall,
    { plan, attempts, stages }: Served & Partial<LoopServed>,
    error: AppError,
  ): AppError {
    const route = plan === undefined ? null : { plan, attempts };
    return this.noted(call, error, route, [...(call.plugins?.stages ?? []), ...(stages?.() ?? [])]);
  }

  private noted(
    { api, aim }: PreparedCall,
    error: AppError,
    route: FailedRoute | null,
    stages: readonly PipelineStage[] = [],
  ): AppError {
    return noteFailedCall(error, { route, stages, plan: () => this.engine.plan(api, aim.request) });
  }

  /**
   * Plugins may cost something, so they work once the money is there, and those that do only for a request that some
   * endpoint can serve. What they make of its prompt is reserved before it is sent.
   */
  private async aimThrough(plugins: PluginRun, { api, checked, fund }: PreparedCall): Promise<Aim> {
    const prepared = await plugins.prepare((current) =>
      this.engine.plan(api, this.aimOf(api, current, checked, UNKNOWN_PROMPT).request),
    );
    const call = await measureCall(this.pdfs, prepared);
    const prompt = promptOf(call);
    const aim = this.aimOf(api, call, checked, prompt);
    await fund.reserve(plugins.spentPicoUsd);
    if (aim.turns === null) await fund.reserveTurn(prompt);
    return aim;
  }
}

/** Returns the expected usage. Turns name no tools of a provider: the gateway runs all that they use. */
function expectedOf(
  { answers, maxTokens, thinking, predictedTokens, toolUses }: CheckedCall,
  { turns }: Pick<Aim, 'turns'>,
) {
  return { answers, maxTokens, thinking, predictedTokens, ...(turns === null && { toolUses }) };
}

function settle(
  { ticket, plugins, admission }: Pick<PreparedCall, 'ticket' | 'plugins' | 'admission'>,
  outcome: CallOutcome,
): void {
  failpoint('call-answered');
  admission?.used(outcome.promptTokens + outcome.completionTokens);
  ticket.settle(plugins === null ? outcome : plugins.charged(outcome));
}
