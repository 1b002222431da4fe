import type { CacheMark, Message } from './conversation';

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments; null means none are taken. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
  readonly strict?: boolean;
  /** Present if the tool takes free text; `parameters` then describe a function with one text, for other APIs. */
  readonly freeText?: FreeText;
  readonly cache?: CacheMark;
}

export interface FreeText {
  /** Absent: any text. */
  readonly grammar?: { readonly syntax: string; readonly definition: string };
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
  /** True if the caller does not want to see the thoughts. */
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
 * A request in the canonical model, independent of any API. A dialect that reads a request adds fields that this form
 * cannot hold to `unread`; a dialect that writes one logs settings that it cannot write. Both become part of the loss
 * report.
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
  /**
   * True if the answer must contain its thoughts in a form that can be sent back, even if the request sets no
   * reasoning.
   */
  readonly wantsSealedThoughts?: boolean;
  /** True if the gateway will continue the conversation itself, so a model that thinks must return its thoughts. */
  readonly isContinued?: boolean;
  /** Log probabilities are requested, with this many alternatives per token. */
  readonly topLogprobs?: number;
  readonly verbosity?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  readonly outputModalities?: readonly ('text' | 'image' | 'audio')[];
  readonly cache?: CacheMark;
  readonly promptCacheKey?: string;
  /** True if `store: false` must be sent upstream. */
  readonly refusesStoring?: boolean;
  readonly serviceTier?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Hash of the end user's id; the id itself is never sent. */
  readonly endUser?: string;
  /** Names of the caller's fields that this form cannot hold. */
  readonly unread: readonly string[];
}
