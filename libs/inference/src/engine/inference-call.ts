import type { JsonObject } from '@libs/json';
import type { Answer } from '../dialects/dialect';
import type { StreamDebug } from '../dialects/stream-debug';
import type { PriceListName } from '../pricing/price';
import type { UpstreamTimeouts } from '../wire/upstream-call';
import type { CredentialScope, OwnCredential } from '../routing/credential-source';
import type { Candidate, RoutePlan, RoutePolicy, RouteRequest, RoutingPreferences } from '../routing/route-plan';
import type { AnswerStream } from '../model/answer-stream';
import type { Attempt } from '../routing/attempt';
import type { RequestReading } from './request-reading';
import type { CancelSignal } from '../model/cancellation';
import type { ExpectedOutput } from '../model/expected-output';
import type { PromptEstimate } from '../model/json-shape';
import type { LossReport } from '../model/loss-report';

/** A validated request: `body` says what to do, the other fields how. */
export interface InferenceRequest {
  readonly generationId: string;
  /** The caller's body, in the caller's dialect. */
  readonly body: Buffer;
  /** The parsed body, so that a translation need not parse it again. */
  readonly parsed?: JsonObject | undefined;
  /** The body in the canonical model; set by the engine. */
  readonly reading?: RequestReading;
  /** Facts about the calls to providers, for the first events of a stream; set by the engine if the body asks for them. */
  readonly debug?: StreamDebug;
  readonly signal: CancelSignal;
  /** When everything must be over, by the engine's clock; if absent, the engine's `totalMs` from now. */
  readonly deadlineMs?: number;
  /**
   * Replace the engine's timeouts: 300 s to the first byte, 60 s between two reads. `totalMs` is limited by the
   * deadline.
   */
  readonly timeouts?: Partial<UpstreamTimeouts>;
  readonly scope?: CredentialScope;
  /** The caller's policies; each of them must allow an endpoint. */
  readonly policies?: readonly RoutePolicy[];
  readonly preferences?: RoutingPreferences;
  /**
   * Betas of Anthropic's API that the caller asks for, in the form of the header; sent to endpoints that accept them.
   */
  readonly betas?: string | undefined;
  /** Returns the output to expect, to charge a call whose caller disconnects; called only in that case. */
  readonly expected?: () => ExpectedOutput;
  /**
   * The estimate by which the prompt was reserved, for the charge after a disconnection; computed again from the body
   * if absent.
   */
  readonly prompt?: PromptEstimate;
  /** Defaults to `standard`. */
  readonly priceList?: PriceListName;
  /**
   * True if the body was accepted for a key of the caller's own. It may ask for features that only such a key can pay
   * for.
   */
  readonly isForOwnKey?: boolean;
}

export interface RoutedRequest extends InferenceRequest, Omit<RouteRequest, 'api'> {
  /**
   * The caller's own keys at the time when the call was priced. If one is deleted meanwhile, a call that may use own
   * keys only does not switch to the operator's. Absent: the keys are looked up.
   */
  readonly ownKeys?: readonly OwnCredential[] | undefined;
}

/** Where an answer came from. */
export interface Served extends Candidate {
  readonly status: number;
  /** All upstream calls of the request, the one that served last. Updated if its stream fails later. */
  readonly attempts: readonly Attempt[];
  /** The other endpoints that were considered; absent if the endpoint was given and no route was planned. */
  readonly plan?: RoutePlan;
  /** Settings that were not sent to the endpoint, because its dialect has no field for them. */
  readonly losses: LossReport;
}

export interface InferenceResult extends Answer, Served {}

export interface StreamResult extends Served {
  /** Bytes of a long request that the stream keeps in memory until it ends; absent if it keeps none. */
  readonly keptBytes?: number;
  readonly stream: AnswerStream;
}
