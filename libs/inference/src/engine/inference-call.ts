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

/** A checked request: what to do is in `body`, the rest is how. */
export interface InferenceRequest {
  readonly generationId: string;
  /** The caller's body, in the caller's dialect. */
  readonly body: Buffer;
  /** The same parsed, so that it is not parsed again where it is translated. */
  readonly parsed?: JsonObject | undefined;
  /** The same in no dialect; the engine sets it. */
  readonly reading?: RequestReading;
  /** What a stream tells about its calls; the engine sets it if the body asks for it. */
  readonly debug?: StreamDebug;
  readonly signal: CancelSignal;
  /** When everything must be over, by the engine's clock; the engine's `totalMs` from now when absent. */
  readonly deadlineMs?: number;
  /** In place of the engine's own: 300 s to the first byte, 60 s between two reads. `totalMs` is cut to the deadline. */
  readonly timeouts?: Partial<UpstreamTimeouts>;
  readonly scope?: CredentialScope;
  /** The caller's policies; each of them must allow an endpoint. */
  readonly policies?: readonly RoutePolicy[];
  readonly preferences?: RoutingPreferences;
  /** Betas of Anthropic's API that the caller asks for, as a header lists them; sent where they are taken. */
  readonly betas?: string | undefined;
  /** Returns the output to expect, to charge a call whose caller leaves; not called otherwise. */
  readonly expected?: () => ExpectedOutput;
  /** The estimate by which the prompt was reserved, for the same bill; made again from the body where it is absent. */
  readonly prompt?: PromptEstimate;
  /** Defaults to `standard`. */
  readonly priceList?: PriceListName;
  /** The body was accepted as one for a key of the caller's own: it may ask for what only such a key can pay. */
  readonly isForOwnKey?: boolean;
}

export interface RoutedRequest extends InferenceRequest, Omit<RouteRequest, 'api'> {
  /**
   * The caller's own keys as they were when the call was priced, so that a key deleted meanwhile does not turn a call
   * that only own keys may serve into one on the operator's. Absent: they are asked for.
   */
  readonly ownKeys?: readonly OwnCredential[] | undefined;
}

/** Where an answer came from. */
export interface Served extends Candidate {
  readonly status: number;
  /** All upstream calls of the request, the one that served last. It changes when its stream fails later. */
  readonly attempts: readonly Attempt[];
  /** What else was considered; absent where the endpoint was named and nothing was planned. */
  readonly plan?: RoutePlan;
  /** What the endpoint was not asked for, because its dialect has no word for it. */
  readonly losses: LossReport;
}

export interface InferenceResult extends Answer, Served {}

export interface StreamResult extends Served {
  /** Bytes of a long request that the stream keeps in memory until it ends; absent where it keeps none. */
  readonly keptBytes?: number;
  readonly stream: AnswerStream;
}
