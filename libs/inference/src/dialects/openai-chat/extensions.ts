import type { Endpoint } from '../../routing/catalogue';
import { objectOf } from '../loose-values';

/**
 * What some chat upstreams take beyond OpenAI's own members. OpenAI and those that copy it exactly refuse a
 * whole request for one of these, so they are sent only where the catalogue says so:
 * `capabilities: { chat: { <name>: true } }`, or of a sampler its name in `supported_parameters`.
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
  /** How pictures are to be made. */
  | 'image_config'
  /** The role, in place of `system`. */
  | 'developer'
  /** Pictures that the model made in earlier turns. */
  | 'images'
  /** Pictures and files in results of tools. */
  | 'tool_media'
  /** In place of `max_completion_tokens`. */
  | 'max_tokens';

/** Those that are parameters of the interface too, so that a model's list of what it supports may name them. */
const PARAMETERS: ReadonlySet<ChatExtension> = new Set(['top_k', 'min_p', 'top_a', 'repetition_penalty']);

export function takes({ capabilities, supportedParameters }: Endpoint, extension: ChatExtension): boolean {
  if (objectOf(capabilities['chat'])[extension] === true) return true;
  return PARAMETERS.has(extension) && supportedParameters.includes(extension);
}
