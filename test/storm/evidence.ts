import type { TestLine } from '../support/batch-lines';
import type { BatchBody } from '../support/client';
import type { Books } from '../support/history';
import type { UpstreamCall } from '../support/upstream-script';
import type { FaultKind } from './fault-plan';
import type { GatewayName, ProcessName } from './parts';

/** Times are milliseconds since the epoch, as the storm's own process saw them. */
export interface Span {
  readonly startMs: number;
  endMs: number;
}

export const CALL_APIS = ['chat', 'responses', 'messages', 'embeddings'] as const;
export type CallApi = (typeof CALL_APIS)[number];

/** Why the load expects a call to be refused. */
export type PlantedRefusal = 'no-money' | 'revoked' | 'bad-request';

/**
 * How an answer ended for its caller. `whole`: a body that is not streamed. `completed` and `failed`: a stream with
 * its proper last event. `broken`: the connection ended before that. `left`: the caller went away. `none`: no answer.
 */
export type CallEnding = 'whole' | 'completed' | 'failed' | 'broken' | 'left' | 'none';

export interface CallRecord extends Span {
  readonly actor: string;
  readonly gateway: GatewayName;
  readonly api: CallApi;
  readonly model: string;
  readonly streamed: boolean;
  readonly marker: string;
  readonly prompt: string;
  /** Name of the key, see `KeyRecord`. */
  readonly key: string;
  /** Refusals that the load brought about itself and that are no fault of the installation's. */
  readonly mayBe: readonly PlantedRefusal[];
  /** Made after every fault had ended: it must succeed. */
  readonly isCalm: boolean;
  status: number | null;
  /** `error_type` of the error that the caller read, of an answer or of the last event; null when there is none. */
  error: string | null;
  generationId: string | null;
  requestId: string | null;
  ending: CallEnding;
  /** Last events of the stream; a sound stream has one. */
  endings: number;
  /** What was said, as far as it came; of embeddings the numbers as JSON. */
  text: string;
  /** Digits of `usage.cost`; null when the caller did not see it. */
  cost: string | null;
}

/** A request other than inference. */
export interface RequestRecord extends Span {
  readonly actor: string;
  readonly gateway: GatewayName;
  readonly what: string;
  readonly isCalm: boolean;
  /** Null when no head of an answer came. */
  status: number | null;
  /** The answer ended before it was whole. */
  brokeOff: boolean;
  error: string | null;
  requestId: string | null;
}

/** A batch that the load asked for: once, or under an idempotency key until it knew the outcome. */
export interface BatchSubmission {
  /** Also its idempotency key, where it has one. */
  readonly name: string;
  readonly endpoint: '/v1/chat/completions' | '/v1/embeddings';
  readonly lines: readonly TestLine[];
}

export interface BatchRecord {
  readonly id: string;
  /** Name of its submission. */
  readonly submission: string;
  readonly lane: 'managed' | 'native';
  readonly endpoint: '/v1/chat/completions' | '/v1/embeddings';
  readonly model: string;
  readonly lines: readonly TestLine[];
  /** Lines that the provider refuses for good, by custom id. */
  readonly planted: readonly string[];
  readonly acceptedMs: number;
  readonly statuses: string[];
  /** As last seen, with results once it was terminal. */
  batch: BatchBody | null;
  /** Answered with 404 although no one had asked for its removal. */
  wasLost: boolean;
  wasCancelled: boolean;
  /** A removal was asked for; whether it happened may be unknown. */
  wasDeleted: boolean;
}

export interface KeyRecord {
  readonly name: string;
  readonly hash: string;
  /** When the answer to its revocation came; null while it is valid. */
  revokedMs: number | null;
  /** A revocation was asked for and its answer was lost. */
  isDoubtful: boolean;
}

export interface VideoRecord {
  readonly id: string;
  readonly recall: 'keyed' | 'listed' | 'plain';
  readonly prompt: string;
  readonly acceptedMs: number;
}

export interface FaultRecord extends Span {
  readonly index: number;
  readonly kind: FaultKind;
  readonly target: string;
  readonly note: string;
}

/** The end of a process of an app. */
export interface DeathRecord {
  readonly process: ProcessName;
  readonly atMs: number;
  /** As the supervisor saw it: `was ended by SIGKILL`, `exited with code 1`. */
  readonly how: string;
  /** The signal by which the storm ended it; null when it ended by itself. */
  readonly injected: 'SIGKILL' | 'SIGTERM' | null;
  /** It had not been ready since its start. */
  readonly wasBooting: boolean;
  /** When it took work again; null until then. */
  backMs: number | null;
}

/** A line of an app's log that no app should write. */
export interface LogFinding {
  readonly process: ProcessName;
  readonly line: string;
}

export interface ProcessMeasure {
  readonly residentMib: number;
  readonly openFiles: number;
}

export interface StoredGeneration {
  readonly id: string;
  readonly state: string;
  readonly outcome: string | null;
  readonly costUsd: string;
  readonly createdMs: number;
  /** Marker of its call, which the load sends as its user agent; null for rows that were not settled and for videos. */
  readonly marker: string | null;
}

export interface StoredCharge {
  readonly reference: string;
  readonly amountUsd: string;
}

export interface StoredHoldRow {
  readonly id: string;
  readonly state: string;
  readonly amountUsd: string;
  readonly settledUsd: string;
}

export interface StoredBatch {
  readonly id: string;
  /** Null for a batch that was submitted without one, and for one that was deleted. */
  readonly idempotencyKey: string | null;
  /** Null for a batch that was deleted. */
  readonly firstCustomId: string | null;
  readonly status: string;
  readonly deleted: boolean;
  readonly total: number;
  readonly completed: number | null;
  readonly failed: number | null;
  readonly errorMessage: string | null;
}

export interface StoredResult {
  readonly batchId: string;
  readonly customId: string;
  readonly generationId: string | null;
  readonly failed: boolean;
  /** Its batch was cancelled while the provider worked on it. */
  readonly calledOff: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costUsd: string;
}

export interface StoredVideo {
  readonly id: string;
  /** Name of its submission, which the load puts into the callback URL. */
  readonly submission: string | null;
  readonly status: string;
  readonly costUsd: string | null;
}

/** What the database holds once the installation is quiet. */
export interface Dump {
  readonly generations: readonly StoredGeneration[];
  /** Every transfer of the kind `charge`. */
  readonly charges: readonly StoredCharge[];
  /** Of batches that were not deleted. */
  readonly results: readonly StoredResult[];
  readonly holds: readonly StoredHoldRow[];
  readonly batches: readonly StoredBatch[];
  readonly videos: readonly StoredVideo[];
  readonly booksOfBatches: ReadonlyMap<string, Books>;
  readonly outboxRows: number;
  readonly segments: number;
  /** Rows of `ledger audit`. */
  readonly drift: readonly string[];
  /** Least seen of balance less holds plus overage, over the whole storm. */
  readonly leastAvailableUsd: string;
  /** Messages by queue, of queues that are not empty. */
  readonly queues: Readonly<Record<string, number>>;
  readonly connections: number;
}

/** Everything that is known of a storm, for `findStormViolations`. */
export interface Evidence {
  readonly seed: number;
  readonly prices: { readonly prompt: string; readonly completion: string };
  readonly videoUsd: string;
  readonly healedMs: number;
  readonly calls: readonly CallRecord[];
  readonly requests: readonly RequestRecord[];
  readonly batchSubmissions: readonly BatchSubmission[];
  readonly batches: readonly BatchRecord[];
  readonly keys: readonly KeyRecord[];
  /** Names of the videos that the load asked for, once each or under an idempotency key. */
  readonly videoSubmissions: readonly string[];
  readonly videos: readonly VideoRecord[];
  /** Webhook ids and the statuses that were announced, by video id. */
  readonly announcements: ReadonlyMap<string, readonly string[]>;
  readonly faults: readonly FaultRecord[];
  readonly deaths: readonly DeathRecord[];
  readonly logFindings: readonly LogFinding[];
  /** What an app logged as the cause of an answer of 500, by request id. */
  readonly causes: ReadonlyMap<string, string>;
  /** Processes that were not ready a minute after the last fault. */
  readonly notReady: readonly string[];
  /** What had not ended when the storm stopped waiting. */
  readonly unfinished: readonly string[];
  readonly upstreamCalls: readonly UpstreamCall[];
  /** Films that providers made, by our id. */
  readonly filmsMade: ReadonlyMap<string, number>;
  readonly before: ReadonlyMap<ProcessName, ProcessMeasure>;
  readonly after: ReadonlyMap<ProcessName, ProcessMeasure>;
  readonly connectionsBefore: number;
  readonly dump: Dump;
}
