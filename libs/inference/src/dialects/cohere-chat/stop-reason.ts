import type { FinishReason } from '../../model/finish-reason';

const FINISHES: Readonly<Record<string, FinishReason>> = {
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  ERROR_LIMIT: 'length',
  TOOL_CALL: 'tool_calls',
  ERROR_TOXIC: 'content_filter',
  ERROR: 'error',
  TIMEOUT: 'error',
};

export function toFinish(native: string | null): FinishReason {
  return native !== null && Object.hasOwn(FINISHES, native) ? FINISHES[native]! : 'stop';
}
