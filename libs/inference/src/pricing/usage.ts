/**
 * What one upstream call used, in the form that pricing understands. All counts are integers, at least 0.
 *
 * `promptTokens` includes `cachedTokens` (read from a prompt cache), `cacheWriteTokens` and
 * `audioPromptTokens`; `completionTokens` includes `reasoningTokens` and `audioCompletionTokens`.
 * `provenance` says who counted: the upstream, ourselves, or the upstream up to the point where its
 * stream broke off.
 */
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  audioPromptTokens: number;
  audioCompletionTokens: number;
  /** Video and files among `promptTokens`, images among `completionTokens`; absent where none were counted. */
  videoPromptTokens?: number;
  filePromptTokens?: number;
  imageCompletionTokens?: number;
  provenance: 'upstream' | 'estimated' | 'partial';
}

/**
 * What an upstream reported of one call in addition to its token counts, in the API's words. A field
 * that it did not report is absent, and so is one that says nothing: a plain call has no details at all.
 */
export interface UsageDetails {
  /** Of the tokens that were written to prompt caches. */
  readonly cacheWrite5mTokens?: number;
  readonly cacheWrite1hTokens?: number;
  /** What tools that ran at the upstream did. */
  readonly webSearches?: number;
  readonly webFetches?: number;
  readonly toolCallsRequested?: number;
  readonly toolCallsExecuted?: number;
  readonly speed?: string;
  /** The parts of a call in which the model ran several times. */
  readonly iterations?: readonly UsageIteration[];
}

export interface UsageIteration {
  /** `message`, `compaction`, `advisor_message` or another. */
  readonly type: string;
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly cacheWrite5mTokens?: number;
  readonly cacheWrite1hTokens?: number;
}

/** A usage of nothing, for calls that are not counted in tokens and as the start of a sum. */
export function emptyUsage(provenance: Usage['provenance']): Usage {
  return {
    promptTokens: 0,
    completionTokens: 0,
    totalTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    audioPromptTokens: 0,
    audioCompletionTokens: 0,
    provenance,
  };
}
