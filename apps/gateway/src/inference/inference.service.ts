import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  APIS,
  InferenceEngine,
  isConversationApi,
  routingMetadata,
  sameRoute,
  toAbortSignal,
  translationReport,
  UNKNOWN_PROMPT,
  untranslatedNeeds,
  type CallableApi,
  type CountedPrompt,
  type Endpoint,
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
import { requireWorkspace } from '../auth/require-workspace';
import { GenerationRecorder } from '../generations/generation-recorder';
import type { PluginRun } from '../plugins/plugin-run';
import { Plugins } from '../plugins/plugins';
import { InferenceLimits, type ExpectedTokens } from '../limits/inference-limits';
import { ServerToolEngine, type LoopResult, type LoopServed } from '../server-tools/server-tool-engine';
import { CallFund } from '../generations/call-fund';
import { BookedCall } from './booked-call';
import { promptOf } from './call-facts';
import { noteFailedCall } from './call-failure';
import { checkCall, routedRequest, type CheckedCall } from './checked-call';
import type { IncomingCall } from '../generations/incoming-call';
import { PdfMeter } from '../parsers/pdf-meter';
import { hasUnmeasuredPdfs, measureCall } from './measured-call';
import { HELD_TURNS } from '../routing/hold-estimate';
import { InferenceRouting } from '../routing/inference-routing';
import { modelAsker } from './model-asker';
import type { Aim, PreparedCall } from './prepared-call';

/** A stream that has begun, and the reason if the gateway has to end it early. */
export interface OpenedStream extends StreamResult, Partial<LoopServed> {
  readonly refusal: () => AppError | null;
}

/** Counts as a request, and uses no tokens. */
const NOTHING_GENERATED: ExpectedTokens = { promptTokens: 0, maxTokens: null, answers: 0 };

/** Runs one inference call: validates it, records it, routes it and charges it. */
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

  /** @throws AppError for every refusal of the API */
  async answer(api: CallableApi, incoming: IncomingCall): Promise<InferenceResult> {
    const call = hasUnmeasuredPdfs(incoming) ? await this.measured(api, incoming) : incoming;
    const prepared = this.prepare(api, call, false);
    const { booked, plugins } = prepared;
    const result = await this.reach<InferenceResult & Partial<LoopResult>>(prepared, async ({ request, turns }) => {
      const answer = turns === null ? this.engine.answer(api, request) : turns.answer(request, prepared.fund);
      if (plugins === null) return answer;
      // What the gateway's tools did for an answer cannot be done again.
      const again = turns === null ? () => this.answerAgain(prepared, request) : null;
      return plugins.review(await answer, { ask: modelAsker(this.engine, this.routing, prepared), again });
    });
    const interruption = booked.settle(result);
    if (interruption !== null) throw this.failedAfter(prepared, result, interruption);
    if (plugins === null) return result;
    try {
      return plugins.told(await plugins.finish(result));
    } catch (thrown) {
      throw this.failedAfter(prepared, result, AppError.from(thrown));
    }
  }

  /** Returns another answer to a request that was answered already. @throws AppError also if credit is lacking for it */
  private async answerAgain({ api, fund }: PreparedCall, request: Aim['request']): Promise<InferenceResult> {
    if (request.prompt !== undefined) await fund.reserveTurn(request.prompt);
    return this.engine.answer(api, request);
  }

  /** Resolves when the first event has arrived. @throws AppError until then */
  async stream(api: StreamableApi, incoming: IncomingCall): Promise<OpenedStream> {
    const call = hasUnmeasuredPdfs(incoming) ? await this.measured(api, incoming) : incoming;
    const prepared = this.prepare(api, call, true);
    const result = await this.reach<StreamResult & Partial<LoopServed>>(prepared, ({ request, turns }) =>
      turns === null ? this.engine.stream(api, request) : turns.stream(request, prepared.fund),
    );
    failpoint('stream-begun');
    return openedStream(prepared, result);
  }

  /**
   * Returns the tokens of a prompt for `messages`, counted by the provider that would answer if it can count, else
   * estimated. Nothing is charged.
   * @throws AppError for every refusal of the API
   */
  async countTokens(call: IncomingCall): Promise<number> {
    const { route } = checkCall('messages', call.parsed);
    const { likelyTokens: promptTokens } = promptOf(call);
    await this.limits.admit(requireWorkspace(call.caller), NOTHING_GENERATED)?.decided;
    // It costs nothing, so no usage is read after its caller has disconnected.
    const request = { ...routedRequest('messages', call, route, promptTokens), signal: toAbortSignal(call.abort) };
    return (await this.engine.countTokens(request)) ?? promptTokens;
  }

  /** Returns the value of the `<service>_metadata` field of an answer; null if no route was planned. */
  metadataOf(api: CallableApi, served: Served & Partial<LoopServed>, generationMs: number): RoutingMetadata | null {
    const { plan, attempts, losses, endpoint } = served;
    if (plan === undefined) return null;
    const translation = translationReport(api, this.routing.upstreamApi(endpoint, api) ?? api, losses);
    const pipeline = served.stages?.() ?? [];
    return routingMetadata({ plan, attempts, served, generationMs, pipeline, translation });
  }

  /**
   * Returns the call with its files measured, except files that a plugin will replace by text.
   * @throws AppError for an invalid body
   */
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
    const { tokens: mostTokens, likelyTokens, kinds, unproven } = prompt;
    const aim = this.aimOf(api, call, checked, prompt);
    const plugins = this.pluginsFor(api, call, checked);
    const models = [route.model, ...route.models];
    const usage = { ...expectedOf(checked, aim), api, models, bodyBytes: call.body.length };
    const turnPicoUsd = ({ tokens: promptTokens, kinds: promptKinds }: CountedPrompt): PicoUsd =>
      this.routing.holdFor(call.caller, { ...usage, promptTokens, promptKinds }, call.ownKeys);
    // Plugins that replace files by text: the text is reserved once it exists.
    const replacesFiles = plugins?.replacesFiles === true;
    const heldTokens = replacesFiles ? likelyTokens : mostTokens;
    const answerPicoUsd = turnPicoUsd({ tokens: heldTokens, kinds }) * (aim.turns === null ? 1n : HELD_TURNS);
    const answers = APIS[api].generates ? choices : 0;
    const tokens = { promptTokens: likelyTokens, maxTokens, answers };
    // Asks Redis while the hold is written to PostgreSQL.
    const admission = this.limits.admit(requireWorkspace(call.caller), tokens);
    const pluginsPicoUsd = plugins?.mostPicoUsd ?? 0n;
    const holdPicoUsd = answerPicoUsd + pluginsPicoUsd;
    const unprovenPicoUsd = unproven === null || replacesFiles ? 0n : turnPicoUsd(unproven) + pluginsPicoUsd;
    const model = this.routing.recordedName(route.model);
    const booking = { api, call, aim, model, streamed: isStream, holdPicoUsd, unprovenPicoUsd, admission, plugins };
    const booked = new BookedCall(this.recorder, booking);
    const fund = new CallFund(booked.ticket, turnPicoUsd, countsByok(booked.ticket.opening));
    return { api, call, checked, aim, plugins, booked, fund };
  }

  private aimOf(api: CallableApi, call: IncomingCall, checked: CheckedCall, prompt: PromptEstimate): Aim {
    const { route } = checked;
    const routed = { ...routedRequest(api, call, route, prompt.likelyTokens), prompt };
    if (!isConversationApi(api)) return { request: routed, turns: null };
    const models = [route.model, ...route.models];
    const turns = this.serverTools.callFor(api, call.parsed, models, { ...call, retention: routed });
    const request = { ...routed, expected: () => expectedOf(checked, { turns }) };
    // False for a request with tools of the gateway: it is written from its canonical form at every endpoint.
    const isNative = (endpoint: Endpoint): boolean => turns === null && this.routing.upstreamApi(endpoint, api) === api;
    const needs = [
      ...untranslatedNeeds(api, call.parsed as Readonly<Record<string, unknown>>, isNative),
      ...(turns === null ? this.serverTools.needsOf(api, call.parsed, models) : []),
    ];
    return { request: needs.length === 0 ? request : { ...request, needs }, turns };
  }

  /** @throws AppError why the call failed, with the facts for its metadata */
  private async reach<T extends Served>(call: PreparedCall, ask: (aim: Aim) => Promise<T>): Promise<T> {
    const { booked, plugins, aim } = call;
    try {
      return await booked.reach(async () => ask(plugins === null ? aim : await this.aimThrough(plugins, call)));
    } catch (thrown) {
      throw this.noted(call, AppError.from(thrown), plugins?.stages);
    }
  }

  /** Returns the error of a call that a provider had answered, at least in part. */
  private failedAfter(
    call: PreparedCall,
    { plan, attempts, stages }: Served & Partial<LoopServed>,
    error: AppError,
  ): AppError {
    sameRoute(error, plan === undefined ? null : { plan, attempts });
    return this.noted(call, error, [...(call.plugins?.stages ?? []), ...(stages?.() ?? [])]);
  }

  private noted({ api, aim, plugins }: PreparedCall, error: AppError, stages: readonly PipelineStage[] = []): AppError {
    const usage = plugins?.refusedUsage ?? null;
    return noteFailedCall(error, { stages, usage, plan: () => this.engine.plan(api, aim.request) });
  }

  /**
   * Runs the plugins. They may cost something, so they run after the payment is reserved, and those that cost something
   * only for a request that some endpoint can serve. A prompt that they change is reserved before it is sent.
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
  return { answers, maxTokens, thinking, predictedTokens, toolUses: turns === null ? toolUses : [] };
}

/** A separate function, so that its closure, which lives as long as the stream, contains nothing of the prompt. */
function openedStream({ booked, plugins }: PreparedCall, result: StreamResult & Partial<LoopServed>): OpenedStream {
  booked.settleAtEnd(result);
  const opened = { ...result, refusal: () => booked.refusal };
  return plugins === null ? opened : plugins.told({ ...opened, stream: plugins.open(result) });
}
