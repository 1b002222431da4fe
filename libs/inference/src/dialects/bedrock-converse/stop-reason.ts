import { objectOf, stringOf } from '@libs/json';
import { toFinishReason, type FinishReason } from '../../model/finish-reason';

/** Stop reasons that only Bedrock has; those that it shares with Anthropic are mapped elsewhere. */
const OWN: Readonly<Record<string, FinishReason>> = {
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
  malformed_model_output: 'error',
  malformed_tool_use: 'error',
};

/** How an answer ended. */
export interface Stop {
  readonly finishReason: FinishReason;
  readonly nativeFinishReason: string | null;
  readonly stopSequence?: string;
}

/** Reads the stop reason from fields that a whole answer and the last event of a stream have in common. */
export function readStop(message: unknown): Stop {
  const { stopReason, additionalModelResponseFields } = objectOf(message);
  const native = stringOf(stopReason) ?? null;
  const stopSequence = stringOf(objectOf(additionalModelResponseFields)['stop_sequence']);
  return {
    finishReason: finishReasonOf(native),
    nativeFinishReason: native,
    ...(stopSequence !== undefined && { stopSequence }),
  };
}

function finishReasonOf(native: string | null): FinishReason {
  if (native === null) return 'stop';
  return Object.hasOwn(OWN, native) ? OWN[native]! : toFinishReason(native);
}
