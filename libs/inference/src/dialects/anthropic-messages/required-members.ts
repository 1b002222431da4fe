import { memberEdits, missingMembers, type ByteEdit, type ScannedObject } from '../../json/json-members';

type Members = Readonly<Record<string, string>>;

/**
 * What has to be there though upstreams leave it out where they have nothing to say (interface §2.1, the result
 * body of messages), as JSON text.
 */
export const MESSAGE_MEMBERS: Members = {
  container: 'null',
  stop_reason: 'null',
  stop_sequence: 'null',
  stop_details: 'null',
};

/** The tier of an upstream that has only one, and does not name it. */
export const STANDARD_TIER = 'standard';

/** The same of the usage of a message, beside its counts. */
export const USAGE_MEMBERS: Members = {
  cache_creation: 'null',
  output_tokens_details: 'null',
  server_tool_use: 'null',
  inference_geo: 'null',
  service_tier: JSON.stringify(STANDARD_TIER),
};

/** The same of the usage that the end of a stream reports. */
export const DELTA_USAGE_MEMBERS: Members = { output_tokens_details: 'null', server_tool_use: 'null' };

const DIRECT_CALL: Members = { caller: '{"type":"direct"}' };

const BLOCK_MEMBERS: ReadonlyMap<string, Members> = new Map([
  ['text', { citations: 'null' }],
  ['thinking', { signature: '""' }],
  ['tool_use', DIRECT_CALL],
  ['web_search_tool_result', DIRECT_CALL],
  ['web_fetch_tool_result', DIRECT_CALL],
]);

/** Completes a block of content in place. */
export function blockEdits(block: ScannedObject, type: string | null): ByteEdit[] {
  const required = type === null ? undefined : BLOCK_MEMBERS.get(type);
  return required === undefined ? [] : memberEdits(block, { set: missingMembers(block, required) });
}
