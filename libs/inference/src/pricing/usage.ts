/**
 * The usage of one upstream call, in the form that pricing needs. All counts are integers of at least 0.
 *
 * `promptTokens` includes `cachedTokens` (read from a prompt cache), `cacheWriteTokens` and `audioPromptTokens`;
 * `completionTokens` includes `reasoningTokens` and `audioCompletionTokens`. `provenance` says who counted: the
 * upstream, this gateway, or the upstream up to the point where its stream broke off.
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
  /**
   * Video and file tokens inside `promptTokens`, and image tokens inside `completionTokens`; absent if none were
   * counted.
   */
  videoPromptTokens?: number;
  filePromptTokens?: number;
  imageCompletionTokens?: number;
  /** A main count that the upstream left out, which is 0 here: its parts are as reported, and a bill estimates it. */
  unreported?: 'prompt' | 'completion';
  provenance: 'upstream' | 'estimated' | 'partial';
}

/**
 * What an upstream reported about one call in addition to token counts, under the API's names. Fields that it did not
 * report, or that are zero, are absent: a plain call has no details at all.
 */
export interface UsageDetails {
  /** Tokens that were written to prompt caches, by lifetime. */
  readonly cacheWrite5mTokens?: number;
  readonly cacheWrite1hTokens?: number;
  /** Uses of tools that ran at the upstream. */
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

/** Returns a usage with all counts 0, for calls that are not counted in tokens and as the start of a sum. */
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
