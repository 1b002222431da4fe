import type { Usage } from '../../pricing/usage';
import { objectOf } from '../../json/loose-values';
import { readChatUsage } from '../openai-chat/usage';

/**
 * What the upstream bills, which is less than what the model read: its own instructions and the frame around
 * tools are not charged. Null unless both counts are there.
 */
export function readUsage(reported: unknown): Usage | null {
  const usage = objectOf(reported);
  const [billed, tokens] = [objectOf(usage['billed_units']), objectOf(usage['tokens'])];
  return readChatUsage({
    prompt_tokens: billed['input_tokens'] ?? tokens['input_tokens'],
    completion_tokens: billed['output_tokens'] ?? tokens['output_tokens'],
  });
}
