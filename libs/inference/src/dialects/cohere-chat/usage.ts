import { objectOf } from '@libs/json';
import type { Usage } from '../../pricing/usage';
import { readChatUsage } from '../openai-chat/usage';

/**
 * Returns the tokens that the upstream bills: fewer than the model read, because the upstream's own instructions
 * and its text around tools are free. Null where neither count is there.
 */
export function readUsage(reported: unknown): Usage | null {
  const usage = objectOf(reported);
  const [billed, tokens] = [objectOf(usage['billed_units']), objectOf(usage['tokens'])];
  return readChatUsage({
    prompt_tokens: billed['input_tokens'] ?? tokens['input_tokens'],
    completion_tokens: billed['output_tokens'] ?? tokens['output_tokens'],
  });
}
