import type { Secret } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { CancelSignal } from '../model/cancellation';
import type { Api, Endpoint } from '../catalogue/catalogue';

/** The dialect of batched requests: one of the callers' APIs, or the protocol's own. */
export type BatchedApi = Api | 'conversation';

/** On whose account a batch API is called, and for how long. */
export interface NativeBatchAccess {
  readonly endpoint: Endpoint;
  /** Null for providers that ask for none. */
  readonly apiKey: Secret | null;
  readonly signal: CancelSignal;
  /** Of one call, as for single calls. */
  readonly timeouts: { readonly headersMs: number; readonly idleMs: number; readonly totalMs: number };
}

/** One batch at a provider, as the provider reports it. */
export interface NativeJob {
  readonly id: string;
  /** `ended` in whatever way: what became of each line, the outputs say. */
  readonly state: 'running' | 'ended';
  /** Ours, where the API keeps one; null where it does not. */
  readonly reference: string | null;
  /** What `download` reads, in the provider's own words; files among them can be removed. */
  readonly outputs: readonly string[];
  /** Lines that it answered, by the provider's own count; absent where the provider does not say. */
  readonly answers?: number;
  /** Why nothing of it was run, in words that may be logged; null otherwise. */
  readonly failure: string | null;
  /** It was not run because too much of the account's work waits already; it may be submitted again later. */
  readonly isTooMuchNow?: boolean;
}

/** What became of one line. The id is the one it was sent with. */
export type NativeLine = { readonly customId: string } & (
  | { readonly kind: 'answer'; readonly body: Buffer }
  | { readonly kind: 'failed'; readonly error: AppError }
  /** It expired, or was cancelled before its turn, and was not charged. */
  | { readonly kind: 'not-run' }
);

export interface NativeOrder {
  /** 1 to 64 letters, digits, `-` or `_`; `find` looks for it. */
  readonly reference: string;
  /** How the lines are written. */
  readonly api: BatchedApi;
  /** From `upload`; null where the lines travel with the order. */
  readonly inputFileId: string | null;
  /** As `line` made them; empty where they were uploaded. */
  readonly lines: readonly Buffer[];
}

/** What is known of an order that the provider may or may not have accepted. */
export interface LostOrder {
  readonly reference: string;
  /** Requests in it. */
  readonly total: number;
  /** It was not sent before this moment, in milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** What a protocol demands of the requests in a batch. Absent: no. */
export interface BatchRules {
  /** All requests of a batch must ask for the same `response_format`, whether the provider runs it or we do. */
  readonly takesOneFormat?: boolean;
  /** The provider searches for a chat completion with `web_search_options`. */
  readonly takesSearchOptions?: boolean;
  /** Its batch API refuses a `custom_id` that is not 1 to 64 letters, digits, `-` or `_`. */
  readonly takesPlainIdsOnly?: boolean;
}

/**
 * A provider's own batch API. Every method throws AppError and nothing else, in the words of single calls: no
 * key, header or upstream body is ever part of an error.
 */
export interface NativeBatches {
  /** Requests in one batch. */
  readonly mostLines: number;
  /** Inputs that one batch may embed in all; absent where there is no limit. */
  readonly mostInputs?: number | undefined;
  /** The dialects in which requests can be batched. */
  readonly apis: readonly BatchedApi[];
  /** One request as a line of a batch. `customId` like a reference. `body` is the body of a single call. */
  line(customId: string, body: Buffer, api: BatchedApi): Buffer;
  /** Stores the lines and returns the file's id; absent where lines travel with the order. */
  upload?(order: Pick<NativeOrder, 'reference' | 'lines'>, access: NativeBatchAccess): Promise<string>;
  /**
   * Whether an uploaded file may be ordered from; absent where it may at once.
   *
   * @throws AppError unprocessable for one that the provider cannot read
   */
  isReady?(inputFileId: string, access: NativeBatchAccess): Promise<boolean>;
  create(order: NativeOrder, access: NativeBatchAccess): Promise<NativeJob>;
  /**
   * The jobs that may be the lost order: the one with its reference or, where the API keeps none, those that look
   * like it, newest first. Empty says that the provider has no such job now.
   */
  find(order: LostOrder, access: NativeBatchAccess): Promise<readonly NativeJob[]>;
  /** Null when the provider no longer knows the job. */
  poll(id: string, access: NativeBatchAccess): Promise<NativeJob | null>;
  /** The lines in any order, each at most once; what cannot be read is left out. Holds one line at a time. */
  download(job: NativeJob, access: NativeBatchAccess): AsyncIterable<NativeLine>;
  /** Asks for an end; the job ends some time later. Repeating it, or cancelling what has ended, is no error. */
  cancel(id: string, access: NativeBatchAccess): Promise<void>;
  /** Removes what the provider keeps of it. `unsupported` where something of it cannot be removed. */
  remove(
    job: { readonly id: string | null; readonly inputFileId: string | null; readonly outputs: readonly string[] },
    access: NativeBatchAccess,
  ): Promise<'deleted' | 'unsupported'>;
}
