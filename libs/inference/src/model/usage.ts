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
  provenance: 'upstream' | 'estimated' | 'partial';
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
