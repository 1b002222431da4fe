import { toFinishReason, type FinishReason } from '../../model/finish-reason';

/** The words of the Messages API for why a model stopped. */
const STOP_REASONS = new Set([
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
  'compaction',
]);

const BY_FINISH: Readonly<Record<FinishReason, string | null>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  error: null,
};

/** How an answer ended, in the words of any API. */
export interface Ending {
  readonly finishReason: FinishReason;
  readonly nativeFinishReason: string | null;
  readonly stopSequence?: string;
}

/**
 * Returns the stop reason for a caller: the upstream's if this API has it, null for an error. Some upstreams report a
 * plain stop after tool calls, as OpenAI does if one was forced; clients of this API run tools only for `tool_use`.
 */
export function stopReasonOf(ending: Ending, hasCalls: boolean): string | null {
  const reason = wordOf(ending);
  return hasCalls && reason === BY_FINISH.stop ? BY_FINISH.tool_calls : reason;
}

function wordOf({ finishReason, nativeFinishReason, stopSequence }: Ending): string | null {
  const isNative = nativeFinishReason !== null && STOP_REASONS.has(nativeFinishReason);
  if (isNative && toFinishReason(nativeFinishReason) === finishReason) return nativeFinishReason;
  return finishReason === 'stop' && stopSequence !== undefined ? 'stop_sequence' : BY_FINISH[finishReason];
}
