import type { FinishReason } from '../../model/finish-reason';

/** The possible statuses of a response that does not run in the background. */
export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';

export type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** Returns the response status for the end of an answer. */
export function statusOf(finishReason: FinishReason): {
  readonly status: ResponseStatus;
  readonly incompleteReason: IncompleteReason | null;
} {
  if (finishReason === 'length') return { status: 'incomplete', incompleteReason: 'max_output_tokens' };
  if (finishReason === 'content_filter') return { status: 'incomplete', incompleteReason: 'content_filter' };
  return { status: finishReason === 'error' ? 'failed' : 'completed', incompleteReason: null };
}

/** Returns why the model stopped, from an upstream's response. */
export function finishOf(
  status: string | null,
  incompleteReason: string | null,
  hasToolCalls: boolean,
): { readonly finishReason: FinishReason; readonly nativeFinishReason: string | null } {
  const nativeFinishReason = incompleteReason ?? status;
  if (status === 'failed' || status === 'cancelled') return { finishReason: 'error', nativeFinishReason };
  if (status === 'incomplete') {
    const isFiltered = incompleteReason === 'content_filter';
    return { finishReason: isFiltered ? 'content_filter' : 'length', nativeFinishReason };
  }
  return { finishReason: hasToolCalls ? 'tool_calls' : 'stop', nativeFinishReason };
}
