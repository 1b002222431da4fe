import { AppError } from '@libs/errors';
import { StreamMeter } from '../dialects/answer-billing';
import {
  TRANSLATIONS,
  type AskableApi,
  type CallableApi,
  type StreamableApi,
  type Translations,
  type UpstreamApi,
} from '../dialects/dialect-pairs';
import { ADAPTER_METHODS, upstreamApiFor } from '../providers/upstream-api';
import type { Answer, AnswerContext } from '../dialects/dialect';
import { answeredEmbeddings, leftEmbeddings } from '../dialects/openai-embeddings/dialect';
import { openTurn, wholeTurn } from '../dialects/conversation-turn';
import { cutAnswer, cutStream, cutTurn, orCutShort } from '../dialects/cut-short';
import { TranslatedStream } from '../dialects/translated-stream';
import { lastingContext } from '../dialects/lasting-context';
import { requireWhole, translateAnswer } from '../dialects/translated-answer';
import type { AnswerStream } from '../model/answer-stream';
import type { Turn } from '../model/conversation-turn';
import type { ExpectedOutput } from '../model/expected-output';
import type { LeftCharge } from '../model/left-charge';
import { NO_LOSS, type LossReport } from '../model/loss-report';
import { turnEnd } from '../model/turn-end';
import { DEFAULT_BYOK_FEE, type Share } from '../pricing/byok-fee';
import type { AllowedUses } from '../pricing/tool-uses';
import type { ProviderAdapter } from '../providers/provider';
import { answeredPartOf } from '../wire/answered-part';
import { isOversized } from '../wire/oversized-answer';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { APIS, isConversationApi } from '../apis/apis';
import type { Api, Endpoint } from '../catalogue/catalogue';
import type { Candidate } from '../routing/route-plan';
import { usesAt } from '../routing/unasked-uses';
import { chargedAsReserved } from './reserved-charge';
import { passRequest, translateRequest, type Addressed, type Addressee, type WrittenPair } from './request-writer';
import { UpstreamCalls, unusable, type TimedRequest, type UpstreamCallParts } from './upstream-calls';

export interface CallerParts extends UpstreamCallParts {
  /** Adapters by protocol. */
  readonly adapters: ReadonlyMap<string, ProviderAdapter>;
  /** Share of the list price that is charged for calls with a caller's own key; 5 per cent if absent. */
  readonly byokFee?: Share;
  /** Dialects that can be translated; all of them if absent. Set only in tests. */
  readonly translations?: Translations;
  /**
   * True: whole answers that arrive in the same turn of the event loop are read at its end, one after the other. With
   * hundreds of concurrent calls this saves a tenth of the CPU time; a single call waits some microseconds longer.
   */
  readonly gathersAnswers?: boolean;
}

export interface Answered extends Answer {
  readonly losses: LossReport;
}

export interface Opened {
  readonly stream: AnswerStream;
  /** Bytes of the request that the stream keeps in memory until it ends. */
  readonly keptBytes: number;
  readonly losses: LossReport;
}

export interface OpenedTurn {
  readonly turn: Turn;
  readonly losses: LossReport;
}

/** A caller's dialect and the different dialect in which the endpoint is asked. */
interface Pair extends WrittenPair {
  readonly upstreamApi: AskableApi;
}

/**
 * Calls one endpoint for one request. If the endpoint has the caller's API, the bytes are passed through. Otherwise the
 * request is read into the canonical model and written in the endpoint's dialect, and the answer is translated back.
 */
export class EndpointCaller {
  readonly #parts: CallerParts;
  readonly #translations: Translations;

  constructor(
    parts: CallerParts,
    private readonly calls: UpstreamCalls,
  ) {
    this.#parts = parts;
    this.#translations = parts.translations ?? TRANSLATIONS;
  }

  /** Whether an endpoint can serve callers of an API, natively or through a translation. */
  readonly canServe = (endpoint: Endpoint, api: Api): boolean => {
    const adapter = this.#parts.adapters.get(endpoint.provider.protocol);
    return upstreamApiFor(api, endpoint, adapter, this.#translations) !== null;
  };

  /**
   * Returns the fields of the request that the endpoint would not receive, by a trial translation. If the request
   * cannot be translated, returns the invalid field. Requests that need no translation are not checked here.
   * Anthropic's betas are not fields.
   */
  lostMembers(api: CallableApi, addressee: Addressee, { betas: _betas, ...request }: Addressed): readonly string[] {
    const pair = this.#pairOf(api, addressee.endpoint);
    try {
      if (pair === null) return passRequest(api, addressee, request, false).losses.dropped;
      return translateRequest(pair, addressee, request, false).losses.dropped;
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      if (pair === null) return [];
      const param = thrown.metadata?.['param'];
      return [typeof param === 'string' ? param : 'body'];
    }
  }

  answer(api: CallableApi, candidate: Candidate, request: TimedRequest): Promise<Answered> {
    const cut = (error: AppError): Answered => ({
      ...cutAnswer(error, this.#contextOf(api, candidate, request)),
      losses: NO_LOSS,
    });
    return this.#cutShort(api, request, this.#answer(api, candidate, request), cut);
  }

  async #answer(api: CallableApi, candidate: Candidate, request: TimedRequest): Promise<Answered> {
    const pair = this.#pairOf(api, candidate.endpoint);
    const context = this.#contextOf(api, candidate, request);
    if (pair === null) {
      const { dialect, sent, losses } = passRequest(api, candidate, request, false);
      const { body, calls } = await this.#askWhole(api, candidate, request, sent, context);
      if (this.#parts.gathersAnswers) await turnEnd();
      return { ...dialect.readAnswer(body, calls === undefined ? context : { ...context, calls }), losses };
    }
    const { sent, losses } = translateRequest(pair, candidate, request, false);
    const { body } = await this.#askWhole(pair.upstreamApi, candidate, request, sent, context);
    if (this.#parts.gathersAnswers) await turnEnd();
    const answer = translateAnswer(body, context, pair, request.parsed);
    if (isConversationApi(api) && APIS[api].tools.failsWhole) requireWhole(answer, context);
    return { ...answer, losses };
  }

  /** Resolves when the stream is committed to this endpoint. */
  openStream(api: StreamableApi, candidate: Candidate, request: TimedRequest): Promise<Opened> {
    const cut = (error: AppError): Opened => ({
      stream: cutStream(error, this.#contextOf(api, candidate, request)),
      keptBytes: 0,
      losses: NO_LOSS,
    });
    return this.#cutShort(api, request, this.#openStream(api, candidate, request), cut);
  }

  async #openStream(api: StreamableApi, candidate: Candidate, request: TimedRequest): Promise<Opened> {
    const pair = this.#pairOf(api, candidate.endpoint);
    const { debug, parsed } = request;
    const lasting = lastingContext(api, this.#contextOf(api, candidate, request), parsed);
    const { keptBytes } = lasting;
    const context = debug ? { ...lasting.context, debug } : lasting.context;
    if (pair === null) {
      const { dialect, sent, losses } = passRequest(api, candidate, request, true);
      if (!dialect.openStream) throw unusable(candidate.endpoint, `${api} has no streams`);
      const upstream = await this.#askStream(api, candidate, request, sent);
      return { stream: await dialect.openStream(upstream, context), keptBytes, losses };
    }
    const { sent, losses } = translateRequest(pair, candidate, request, true);
    const writer = pair.caller.writeStream(context, parsed);
    const reader = pair.upstream.readStream(candidate.endpoint);
    const upstream = await this.#askStream(pair.upstreamApi, candidate, request, sent);
    const stream = await TranslatedStream.open(upstream, context, { reader, writer });
    // No other endpoint will be tried, so the parsed request can be freed; otherwise the stream would keep it in
    // memory.
    request.reading?.forget();
    return { stream, keptBytes, losses };
  }

  /**
   * Returns the charge of a call that ended with `error` but must still be paid, if the error itself carries no charge.
   */
  leftCharge(api: CallableApi, candidate: Candidate, request: TimedRequest, error: AppError): LeftCharge {
    const context = this.#contextOf(api, candidate, request);
    if (isConversationApi(api)) return { ...new StreamMeter(context).left(isOversized(error)), upstreamId: null };
    const part = isOversized(error) ? null : answeredPartOf(error);
    return part === null ? { ...leftEmbeddings(context), upstreamId: null } : answeredEmbeddings(part, context);
  }

  /**
   * Opens one turn of a conversation in the canonical model. It is translated even if the endpoint has the caller's
   * API.
   */
  openTurn(api: StreamableApi, candidate: Candidate, request: TimedRequest, isStream: boolean): Promise<OpenedTurn> {
    const opened = this.#openTurn(api, candidate, request, isStream);
    return this.#cutShort(api, request, opened, (error) => ({ turn: cutTurn(error), losses: NO_LOSS }));
  }

  async #openTurn(
    api: StreamableApi,
    candidate: Candidate,
    request: TimedRequest,
    isStream: boolean,
  ): Promise<OpenedTurn> {
    const { endpoint } = candidate;
    const pair = this.#translationOf(api, this.upstreamApiOf(api, endpoint), endpoint);
    const context = this.#contextOf(api, candidate, request);
    const { sent, losses } = translateRequest(pair, candidate, request, isStream);
    if (!isStream) {
      const { body } = await this.#askWhole(pair.upstreamApi, candidate, request, sent, context);
      return { turn: wholeTurn(body, context, pair.upstream), losses };
    }
    const reader = pair.upstream.readStream(endpoint);
    const upstream = await this.#ask(pair.upstreamApi, 'stream', candidate, request, sent);
    return { turn: await openTurn(upstream, context, reader), losses };
  }

  /** While another model may be tried, a prompt that is too long remains an error. */
  #cutShort<T>(api: CallableApi, { hasOtherModel }: TimedRequest, answered: Promise<T>, cut: (error: AppError) => T) {
    return hasOtherModel || !APIS[api].cutsLongPrompts ? answered : orCutShort(answered, cut);
  }

  /** Returns the translation to use; null if the endpoint has the caller's own API. */
  #pairOf(api: CallableApi, endpoint: Endpoint): Pair | null {
    const upstreamApi = this.upstreamApiOf(api, endpoint);
    return upstreamApi === api ? null : this.#translationOf(api, upstreamApi, endpoint);
  }

  /** Returns the API in which an endpoint is asked. @throws AppError if it cannot be asked */
  upstreamApiOf(api: CallableApi, endpoint: Endpoint): UpstreamApi {
    const { protocol } = endpoint.provider;
    const upstreamApi = upstreamApiFor(api, endpoint, this.#parts.adapters.get(protocol), this.#translations);
    if (upstreamApi === null) throw unusable(endpoint, `protocol ${protocol} cannot serve ${api}`);
    return upstreamApi;
  }

  #translationOf(api: CallableApi, upstreamApi: UpstreamApi, endpoint: Endpoint): Pair {
    const adapter = this.#parts.adapters.get(endpoint.provider.protocol);
    const { caller } = this.#translations.get(api)!;
    const upstream =
      upstreamApi === 'conversation' ? adapter!.conversation! : this.#translations.get(upstreamApi)!.upstream;
    return { upstreamApi: upstreamApi as AskableApi, caller, upstream };
  }

  async #askWhole(
    api: AskableApi,
    candidate: Candidate,
    request: TimedRequest,
    body: Buffer,
    context: AnswerContext,
  ): Promise<UpstreamResult> {
    try {
      return await this.#ask(api, 'whole', candidate, request, body);
    } catch (thrown) {
      throw chargedAsReserved(thrown, context);
    }
  }

  #askStream(api: AskableApi, candidate: Candidate, request: TimedRequest, body: Buffer): Promise<UpstreamStream> {
    const call = (): Promise<UpstreamStream> => this.#ask(api, 'stream', candidate, request, body);
    return request.debug ? request.debug.watch(body, call) : call();
  }

  #ask<K extends 'whole' | 'stream'>(
    api: AskableApi,
    kind: K,
    candidate: Candidate,
    request: TimedRequest,
    body: Buffer,
  ): Promise<Asked<K>> {
    const { protocol } = candidate.endpoint.provider;
    const adapter = this.#parts.adapters.get(protocol);
    const name = ADAPTER_METHODS[api][kind];
    const method = (name === null ? undefined : adapter?.[name]) as AdapterMethod<K> | undefined;
    if (method === undefined) throw unusable(candidate.endpoint, `protocol ${protocol} cannot ${name ?? kind}`);
    const call = this.calls.callOf(candidate, request, body);
    return call instanceof Promise ? call.then((made) => method.call(adapter!, made)) : method.call(adapter!, call);
  }

  #contextOf(api: CallableApi, { model, endpoint, credential }: Candidate, request: TimedRequest): AnswerContext {
    const { generationId, body, expected, prompt, beganMs, signal, priceList = 'standard' } = request;
    const isUnread = (): boolean => signal.leaveTerms?.isUnread === true;
    const { byokFee = DEFAULT_BYOK_FEE } = this.#parts;
    const fee = credential ? byokFee : undefined;
    const about = { generationId, model, endpoint, priceList, beganMs, byokFee: fee };
    const toolUses = expected && (() => this.#toolUsesAt(endpoint, api, expected()));
    return { ...about, requestBody: body, expected, prompt, toolUses, isUnread };
  }

  /**
   * Returns the tool uses to expect. A translation drops the request's tools, but not those that a model uses by
   * itself.
   */
  #toolUsesAt(endpoint: Endpoint, api: CallableApi, { toolUses = [] }: ExpectedOutput): readonly AllowedUses[] {
    return usesAt(endpoint, api, this.#pairOf(api, endpoint) === null ? toolUses : []);
  }
}

type Asked<K extends 'whole' | 'stream'> = K extends 'whole' ? UpstreamResult : UpstreamStream;

type AdapterMethod<K extends 'whole' | 'stream'> = (this: ProviderAdapter, call: UpstreamCall) => Promise<Asked<K>>;
