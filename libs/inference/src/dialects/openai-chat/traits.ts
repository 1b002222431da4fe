import type { Endpoint } from '../../catalogue/catalogue';
import { isTaken } from '../own-members';

/**
 * Fields that some chat upstreams accept in addition to OpenAI's own. OpenAI and exact copies of its API refuse a
 * request with one of them. So they are sent only if the catalogue allows it: `capabilities: { chat: { <name>: true }
 * }`. Samplers are also sent if they are among the supported parameters.
 */
export type ChatExtension =
  /** The object `reasoning` in place of `reasoning_effort`. */
  | 'reasoning'
  /** Thoughts of earlier turns with their signatures. */
  | 'reasoning_details'
  /** Thoughts of earlier turns as plain text. */
  | 'reasoning_content'
  /** Samplers of self-hosted servers. */
  | 'top_k'
  | 'min_p'
  | 'top_a'
  | 'repetition_penalty'
  | 'cache_control'
  | 'metadata'
  /** The role `developer`, in place of `system`. */
  | 'developer'
  /** Accepts pictures that the model made in earlier turns. */
  | 'images'
  /** Pictures and files in results of tools. */
  | 'tool_media'
  /** Accepts this field instead of `max_completion_tokens`. */
  | 'max_tokens';

export function takes(endpoint: Endpoint, extension: ChatExtension): boolean {
  return isTaken(endpoint, 'chat', extension) === true;
}
