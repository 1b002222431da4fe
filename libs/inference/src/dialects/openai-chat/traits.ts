import type { Endpoint } from '../../catalogue/catalogue';
import { isTaken } from '../own-members';

/**
 * What some chat upstreams take beyond OpenAI's own members. OpenAI and those that copy it exactly refuse a
 * whole request for one of these, so they are sent only where the catalogue says so:
 * `capabilities: { chat: { <name>: true } }`, and samplers also where they are among the supported parameters.
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
  /** Pictures that the model made in earlier turns. */
  | 'images'
  /** Pictures and files in results of tools. */
  | 'tool_media'
  /** In place of `max_completion_tokens`. */
  | 'max_tokens';

export function takes(endpoint: Endpoint, extension: ChatExtension): boolean {
  return isTaken(endpoint, 'chat', extension) === true;
}
