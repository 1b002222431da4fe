import type { CacheMark, Message } from './conversation';

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments; null means none are taken. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
  readonly strict?: boolean;
  readonly cache?: CacheMark;
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | {
      readonly type: 'json-schema';
      readonly name: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly description?: string;
      readonly strict?: boolean;
    };

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ReasoningRequest {
  readonly isEnabled?: boolean;
  readonly effort?: ReasoningEffort;
  /** Cap on thinking, in tokens. */
  readonly maxTokens?: number;
  readonly summary?: 'auto' | 'concise' | 'detailed';
  /** The caller does not want to see it. */
  readonly isHidden?: boolean;
}

/** Sampling settings. An absent one is not sent upstream. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly topA?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly repetitionPenalty?: number;
  readonly seed?: number;
  readonly logitBias?: Readonly<Record<string, number>>;
}

/**
 * One request in no API's own shape. A dialect that reads a request names fields that it cannot hold in
 * `unread`; a dialect that writes one logs what it could not write. Both end in the loss report.
 */
export interface CanonicalRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly areParallelToolCallsAllowed?: boolean;
  readonly responseFormat?: ResponseFormat;
  readonly sampling: Sampling;
  readonly maxOutputTokens?: number;
  readonly stopSequences: readonly string[];
  /** Answers wanted; 1 when absent. */
  readonly choices?: number;
  readonly reasoning?: ReasoningRequest;
  /** The answer must have its thoughts in a form that can be sent back, even if the request sets no reasoning. */
  readonly wantsSealedThoughts?: boolean;
  /** The gateway will continue the answer itself, so a model that is known to think must send its thoughts. */
  readonly isContinued?: boolean;
  /** Log probabilities wanted, with so many alternatives per token. */
  readonly topLogprobs?: number;
  readonly verbosity?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  readonly outputModalities?: readonly ('text' | 'image' | 'audio')[];
  readonly cache?: CacheMark;
  readonly promptCacheKey?: string;
  /** The request to the upstream must say `store: false`. */
  readonly refusesStoring?: boolean;
  readonly serviceTier?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Hash of the end user's id; the id itself is never sent. */
  readonly endUser?: string;
  /** Names of the caller's fields that this form cannot hold. */
  readonly unread: readonly string[];
}
