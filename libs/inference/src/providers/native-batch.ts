import type { Secret } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { CancelSignal } from '../model/cancellation';
import type { Api, Endpoint } from '../catalogue/catalogue';

/** The API in which batched requests are written: one of the callers' APIs, or the protocol's own. */
export type BatchedApi = Api | 'conversation';

/** The endpoint, key and timeouts for calls to a batch API. */
export interface NativeBatchAccess {
  readonly endpoint: Endpoint;
  /** Null for providers that need no key. */
  readonly apiKey: Secret | null;
  readonly signal: CancelSignal;
  /** Timeouts of one call, with the same meaning as for single calls. */
  readonly timeouts: { readonly headersMs: number; readonly idleMs: number; readonly totalMs: number };
}

/** One batch at a provider, as the provider reports it. */
export interface NativeJob {
  readonly id: string;
  /** `ended` covers every kind of end; the outputs show the result of each line. */
  readonly state: 'running' | 'ended';
  /** Our reference, if the API stores one; otherwise null. */
  readonly reference: string | null;
  /** Names of the outputs for `download`, in the provider's form. Outputs that are files can be removed. */
  readonly outputs: readonly string[];
  /** Number of lines that were answered, by the provider's count; absent if the provider does not report it. */
  readonly answers?: number;
  /** Why no line was run, in words that may be logged; otherwise null. */
  readonly failure: string | null;
  /** True if the batch was not run because too much work of the account is waiting; it may be submitted again later. */
  readonly isTooMuchNow?: boolean;
}

/** The result of one line. The id is the `custom_id` that was sent with it. */
export type NativeLine = { readonly customId: string } & (
  | { readonly kind: 'answer'; readonly body: Buffer }
  | { readonly kind: 'failed'; readonly error: AppError }
  /** The line expired, or was cancelled before it ran, and was not charged. */
  | { readonly kind: 'not-run' }
);

export interface NativeOrder {
  /** 1 to 64 letters, digits, `-` or `_`. `find` searches for it. */
  readonly reference: string;
  /** How the lines are written. */
  readonly api: BatchedApi;
  /** Result of `upload`; null if the lines are part of the order. */
  readonly inputFileId: string | null;
  /** Lines made by `line`; empty if they were uploaded. */
  readonly lines: readonly Buffer[];
}

/** An order that the provider may or may not have accepted. */
export interface LostOrder {
  readonly reference: string;
  /** Requests in it. */
  readonly total: number;
  /** The order was sent at this time or later, in milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** Requirements of a protocol for the requests in a batch. Absent means no. */
export interface BatchRules {
  /** All requests of a batch must have the same `response_format`, both at the provider and in our own lane. */
  readonly takesOneFormat?: boolean;
  /** The provider runs web searches for chat completions with `web_search_options`. */
  readonly takesSearchOptions?: boolean;
  /** The provider's batch API refuses a `custom_id` that is not 1 to 64 letters, digits, `-` or `_`. */
  readonly takesPlainIdsOnly?: boolean;
}

/**
 * A provider's own batch API. Every method throws only AppError, with the same codes as single calls. No error contains
 * a key, a header or a body of the upstream.
 */
export interface NativeBatches {
  /** Requests in one batch. */
  readonly mostLines: number;
  /** Most inputs that one batch may embed in total; absent if there is no limit. */
  readonly mostInputs?: number | undefined;
  /** The APIs whose requests can be batched. */
  readonly apis: readonly BatchedApi[];
  /**
   * Returns one request as a line of a batch. `customId` has the form of a reference; `body` is that of a single call.
   */
  line(customId: string, body: Buffer, api: BatchedApi): Buffer;
  /** Uploads the lines and returns the file's id; absent if the lines are part of the order. */
  upload?(order: Pick<NativeOrder, 'reference' | 'lines'>, access: NativeBatchAccess): Promise<string>;
  /**
   * Returns whether a batch may be ordered from an uploaded file; absent if it may be ordered at once.
   * @throws AppError unprocessable if the provider cannot read the file
   */
  isReady?(inputFileId: string, access: NativeBatchAccess): Promise<boolean>;
  create(order: NativeOrder, access: NativeBatchAccess): Promise<NativeJob>;
  /**
   * Returns the jobs that may be the lost order: the one with its reference or, if the API stores none, those that look
   * like it, newest first. An empty list means that the provider has no such job now.
   */
  find(order: LostOrder, access: NativeBatchAccess): Promise<readonly NativeJob[]>;
  /** Returns the state of a job; null if the provider no longer has it. */
  poll(id: string, access: NativeBatchAccess): Promise<NativeJob | null>;
  /** Yields the lines in any order, each at most once; skips unreadable ones. Keeps one line in memory at a time. */
  download(job: NativeJob, access: NativeBatchAccess): AsyncIterable<NativeLine>;
  /**
   * Asks the provider to cancel the job, which then ends some time later. Repeating it, or cancelling an ended job, is
   * not an error.
   */
  cancel(id: string, access: NativeBatchAccess): Promise<void>;
  /** Removes what the provider stores of the job. Returns `unsupported` if a part of it cannot be removed. */
  remove(
    job: { readonly id: string | null; readonly inputFileId: string | null; readonly outputs: readonly string[] },
    access: NativeBatchAccess,
  ): Promise<'deleted' | 'unsupported'>;
}
