import { stringOf, type JsonObject } from '@libs/json';
import { toFinishReason, type FinishReason } from '../../model/finish-reason';

/** Returns why a choice ended, in our word and the upstream's; null while it is still running. */
export function readStop(choice: JsonObject): { finishReason: FinishReason; nativeFinishReason: string } | null {
  const said = stringOf(choice['finish_reason']);
  if (!said) return null;
  return { finishReason: toFinishReason(said), nativeFinishReason: stringOf(choice['native_finish_reason']) ?? said };
}
