import type { AppError } from '@libs/errors';
import {
  APIS,
  callCancelled,
  formatUsd,
  leftCallOf,
  parseUsd,
  type AnswerSource,
  type AnswerStream,
  type InferenceResult,
  type PicoUsd,
  type PipelineStage,
  type ReadFile,
  type StreamResult,
} from '@libs/inference';
import type { AskedCall, GenerationSearch } from '@libs/persistence';
import { askedCallOf, type AnsweredQuestion } from '../generations/asked-call';
import { ownKeyCostOf, sumOwnKeyCosts, type OwnKeyCost } from '../generations/own-key-cost';
import type { CallOutcome } from '../generations/generation-ticket';
import type { IncomingCall } from '../generations/incoming-call';
import type { Fields } from '../server-tools/named-tools';
import type { LoopResult, LoopServed } from '../server-tools/server-tool-engine';
import { joinSearches } from '../server-tools/web-search';
import { AnswerBody, usageOf } from './answer-body';
import { addingCost } from './added-cost';
import { ChangedStream } from './changed-stream';
import type { AskModel, BoundPlugin, ModelQuestion, PluginContext, Preparation } from './plugin';
import { RequestBody } from './request-body';

/** The request in the form that plugins work on. */
interface PluginRequest {
  readonly call: IncomingCall;
  /** The body with the changes of the plugins so far. */
  readonly body: RequestBody;
}

/** What plugins may ask for when they review an answer. */
interface Questions<T> {
  /** Asks a model; its cost is added to that of the plugins. */
  readonly ask: (question: ModelQuestion) => Promise<InferenceResult>;
  /** Asks for another answer to the request; null if there can be none. */
  readonly again: (() => Promise<T>) | null;
}

/** The plugins of one request, from its body to its answer. Each step is called once, in this order. */
export class PluginRun {
  readonly #stages: PipelineStage[] = [];
  readonly #sources: AnswerSource[] = [];
  readonly #files: ReadFile[] = [];
  /** Null once the answer is a stream: the remaining steps do not need the request, which may be large. */
  #request: PluginRequest | null;
  readonly #generationId: string;
  #shown: Fields = {};
  #spent = 0n;
  /** Cost of the plugins' calls on the caller's own key; `#spent` contains the fees for them. */
  #ownKey: OwnKeyCost | undefined;
  readonly #askedCalls: AskedCall[] = [];
  #search: GenerationSearch | undefined;
  #refusedUsage: unknown = null;

  constructor(
    private readonly plugins: readonly BoundPlugin[],
    call: IncomingCall,
    private readonly context: PluginContext,
  ) {
    this.#generationId = call.generationId;
    this.#request = { call, body: new RequestBody(context.api, call.body, call.parsed as Fields) };
  }

  get #asked(): PluginRequest {
    if (this.#request === null) throw new Error('A stream has begun: its request is gone');
    return this.#request;
  }

  /** The most that the plugins may cost the caller. */
  get mostPicoUsd(): PicoUsd {
    return this.plugins.reduce((sum, { mostPicoUsd = 0n }) => sum + mostPicoUsd, 0n);
  }

  /** True if a plugin replaces the files of the request by text. */
  get replacesFiles(): boolean {
    return this.plugins.some((plugin) => plugin.replacesFiles?.(this.context) === true);
  }

  /** The cost of the plugins so far. */
  get spentPicoUsd(): PicoUsd {
    return this.#spent;
  }

  /** The usage that the caller pays for an answer that a plugin refused; null without one. */
  get refusedUsage(): unknown {
    return this.#refusedUsage;
  }

  /** What the plugins did so far, including that one failed. */
  get stages(): readonly PipelineStage[] {
    return this.#stages;
  }

  /**
   * Returns the call as changed by the plugins.
   * @param beforePaying called with the current call before a plugin that costs something; an error of it ends the call
   * @throws AppError why a plugin refuses the call or fails
   */
  async prepare(beforePaying: (call: IncomingCall) => Promise<unknown>): Promise<IncomingCall> {
    let refusal: AppError | undefined;
    const begins = async ({ mostPicoUsd }: BoundPlugin): Promise<void> => {
      if (mostPicoUsd !== undefined) await beforePaying(this.#current());
    };
    await this.#eachPlugin(async (plugin) => {
      const preparation = await this.#preparationBy(plugin);
      if (preparation === null) return true;
      this.#request = { ...this.#asked, body: preparation.body };
      this.#sources.push(...(preparation.sources ?? []));
      this.#files.push(...(preparation.files ?? []));
      this.#spent += plugin.mostPicoUsd ?? 0n;
      this.#search = joinSearches(this.#search, preparation.search);
      this.#stages.push(preparation.stage);
      refusal = preparation.refusal;
      return refusal === undefined;
    }, begins);
    if (refusal !== undefined) throw refusal;
    return this.#current();
  }

  /** If the client disconnects during a search, the search is charged by the plugin that started it. */
  async #preparationBy(plugin: BoundPlugin): Promise<Preparation | null> {
    const { signal } = this.context;
    if (signal.aborted) throw callCancelled();
    try {
      return (await plugin.prepare?.(this.#asked.body, this.context)) ?? null;
    } catch (thrown) {
      if (signal.aborted) this.#spent += plugin.mostPicoUsd ?? 0n;
      throw thrown;
    }
  }

  #current(): IncomingCall {
    const { call, body } = this.#asked;
    return { ...call, body: body.bytes, parsed: body.parsed, prompt: undefined };
  }

  /**
   * Returns a whole answer in the form that is recorded, with the error that the caller gets instead if a plugin
   * refuses it.
   */
  async review<T extends InferenceResult & Partial<LoopResult>>(first: T, { ask, again }: Questions<T>): Promise<T> {
    let result = first;
    const asked = { request: this.#asked.body, ask: this.#paying(ask) };
    for (const plugin of this.plugins) {
      while (!result.interruption) {
        const review = (await plugin.review?.({ answer: result.body, ...asked }, this.context)) ?? null;
        if (review === null) break;
        this.#stages.push(review.stage);
        this.#shown = { ...this.#shown, ...review.shown };
        if (review.refusal === undefined) break;
        const next = review.mayAskAgain === true && again !== null ? await this.#replaced(result, again) : null;
        if (next === null) {
          this.#refusedUsage = usageOf(result.body, this.#spent);
          return { ...result, interruption: review.refusal };
        }
        result = next;
      }
    }
    return result;
  }

  /** Returns another answer, and pays for the one that it replaces. Null if there is none: the refusal stands. */
  async #replaced<T extends InferenceResult>(refused: T, again: () => Promise<T>): Promise<T | null> {
    let next: T;
    try {
      next = await again();
    } catch (thrown) {
      const left = leftCallOf(thrown);
      if (left !== null) this.#pay(left);
      return null;
    }
    this.#pay(refused);
    return next;
  }

  #paying(ask: (question: ModelQuestion) => Promise<InferenceResult>): AskModel {
    return async (question) => {
      try {
        const result = await ask(question);
        this.#pay(result);
        return result.body;
      } catch (thrown) {
        const left = leftCallOf(thrown);
        if (left !== null) this.#pay(left);
        throw thrown;
      }
    };
  }

  #pay(question: AnsweredQuestion): void {
    this.#spent += question.cost.totalCost;
    this.#ownKey = sumOwnKeyCosts(this.#ownKey, ownKeyCostOf(question.cost));
    const asked = askedCallOf(question);
    if (asked !== null) this.#askedCalls.push(asked);
  }

  /** Returns an answer that is not streamed, with the changes of the plugins. */
  async finish<T extends InferenceResult>(result: T): Promise<T> {
    const answer = new AnswerBody(this.context.api, result.body);
    await this.#eachPlugin(async (plugin) => {
      const stage = (await plugin.finish?.(answer, this.#asked.body, this.context)) ?? null;
      if (stage !== null) this.#stages.push(stage);
      return true;
    });
    answer.cite(this.#sources);
    answer.attach(this.#files);
    if (this.#spent > 0n) answer.addCost(this.#spent);
    answer.show(this.#shown);
    return { ...result, body: answer.toBytes() };
  }

  /**
   * Returns a stream that cites the sources and names the files. Its usage includes the cost of the plugins. Nothing of
   * the request is kept from now on.
   */
  open({ stream, model, endpoint }: StreamResult): AnswerStream {
    this.#request = null;
    const { api } = this.context;
    const costed = this.#spent > 0n ? new ChangedStream(stream, addingCost(api, this.#spent)) : stream;
    if (this.#sources.length === 0 && this.#files.length === 0) return costed;
    const head = { generationId: this.#generationId, model: model.slug, provider: endpoint.provider.name };
    const citer = APIS[api].stream.citer(this.#sources, head, this.#files);
    return new ChangedStream(costed, (frame) => citer.cite(frame));
  }

  /** Returns the answer with the plugins in its metadata too. */
  told<T extends Partial<LoopServed>>(served: T): T & LoopServed {
    return { ...served, stages: () => [...this.#stages, ...(served.stages?.() ?? [])] };
  }

  /** Returns the outcome to record, including the cost of the plugins. */
  charged(outcome: CallOutcome): CallOutcome {
    const costPicoUsd = outcome.costPicoUsd + this.#spent;
    const recorded = this.recorded(outcome);
    const details = this.#spent === 0n ? recorded.details : this.#withSpent(recorded.details);
    return this.#withOwnKey({ ...recorded, details, costPicoUsd, costUsd: formatUsd(costPicoUsd) });
  }

  /** Adds the plugins' cost on the caller's own key to the amounts that limits with own keys count. */
  #withOwnKey(outcome: CallOutcome): CallOutcome {
    if (this.#ownKey === undefined) return outcome;
    const { upstreamCost, byokFee } = this.#ownKey;
    const { details, byokFeeUsd = '0' } = outcome;
    const upstreamCostUsd = formatUsd(parseUsd(details.upstreamCostUsd ?? '0') + upstreamCost);
    return {
      ...outcome,
      byokFeeUsd: formatUsd(parseUsd(byokFeeUsd) + byokFee),
      details: { ...details, upstreamCostUsd },
    };
  }

  /** Adds the cost of the plugins to that of the gateway's own tools, for which the provider charges nothing. */
  #withSpent(details: CallOutcome['details']): CallOutcome['details'] {
    if (details.isByok) return details;
    return { ...details, gatewayToolsUsd: formatUsd(parseUsd(details.gatewayToolsUsd ?? '0') + this.#spent) };
  }

  /**
   * Returns the outcome with the searches and questions of the plugins; also for a call that no provider answered or
   * that is not charged.
   */
  recorded(outcome: CallOutcome): CallOutcome {
    const { details } = outcome;
    const search = joinSearches(this.#search, details.search);
    const asked = [...this.#askedCalls, ...(details.asked ?? [])];
    if (search === undefined && asked.length === 0) return outcome;
    return { ...outcome, details: { ...details, search, asked: asked.length === 0 ? undefined : asked } };
  }

  /**
   * Runs the plugins one after the other, until `work` returns false. After the caller has disconnected, every error is
   * reported as a cancelled call.
   */
  async #eachPlugin(
    work: (plugin: BoundPlugin) => Promise<boolean>,
    begins?: (plugin: BoundPlugin) => Promise<void>,
  ): Promise<void> {
    for (const plugin of this.plugins) {
      await begins?.(plugin);
      try {
        if (!(await work(plugin))) return;
      } catch (thrown) {
        if (this.context.signal.aborted) throw callCancelled();
        this.#stages.push({ ...plugin.stage, summary: 'failed' });
        throw thrown;
      }
    }
  }
}
