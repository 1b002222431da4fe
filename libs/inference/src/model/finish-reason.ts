/** Why a model stopped, by the names of the Chat Completions API. */
export const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'error'] as const;

export type FinishReason = (typeof FINISH_REASONS)[number];

/** Other finish reasons of upstreams with OpenAI's API. An unknown one counts as `stop`. */
const SYNONYMS: Readonly<Record<string, FinishReason>> = {
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  max_output_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  safety: 'content_filter',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  refusal: 'content_filter',
  sensitive: 'content_filter',
  insufficient_system_resource: 'error',
  network_error: 'error',
  abort: 'error',
};

/** Words before a colon, after which Google's API for OpenAI's clients gives its own reason. */
const FILTERS: Readonly<Record<string, FinishReason>> = {
  content_filter: 'content_filter',
  function_call_filter: 'error',
};

/** Returns our finish reason for the upstream's. */
export function toFinishReason(native: string): FinishReason {
  const known = FINISH_REASONS.find((reason) => reason === native);
  return known ?? wordIn(SYNONYMS, native) ?? wordIn(FILTERS, native.split(':')[0]!) ?? 'stop';
}

/** Returns the finish reason of a whole answer whose upstream gives none. */
export function endWithoutReason(parts: readonly { readonly type: string }[]): FinishReason {
  return parts.some(({ type }) => type === 'tool-call') ? 'tool_calls' : 'stop';
}

function wordIn(words: Readonly<Record<string, FinishReason>>, word: string): FinishReason | undefined {
  return Object.hasOwn(words, word) ? words[word] : undefined;
}
