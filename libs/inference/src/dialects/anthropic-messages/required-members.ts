import { memberEdits, missingMembers, type ByteEdit, type ScannedObject } from '@libs/json';

type Members = Readonly<Record<string, string>>;

/**
 * Required fields that upstreams omit if they are empty, as JSON text.
 */
export const MESSAGE_MEMBERS: Members = {
  container: 'null',
  stop_reason: 'null',
  stop_sequence: 'null',
  stop_details: 'null',
};

/** The tier of an upstream that has only one and does not name it. */
export const STANDARD_TIER = 'standard';

/** Required fields of the usage of a message, except for its counts. */
export const USAGE_MEMBERS: Members = {
  cache_creation: 'null',
  output_tokens_details: 'null',
  server_tool_use: 'null',
  inference_geo: 'null',
  service_tier: JSON.stringify(STANDARD_TIER),
};

/** Required fields of the usage at the end of a stream. */
export const DELTA_USAGE_MEMBERS: Members = { output_tokens_details: 'null', server_tool_use: 'null' };

const DIRECT_CALL: Members = { caller: '{"type":"direct"}' };

const BLOCK_MEMBERS: ReadonlyMap<string, Members> = new Map([
  ['text', { citations: 'null' }],
  ['thinking', { signature: '""' }],
  ['tool_use', DIRECT_CALL],
  ['web_search_tool_result', DIRECT_CALL],
  ['web_fetch_tool_result', DIRECT_CALL],
]);

/** Returns the edits that add required fields to a content block. */
export function blockEdits(block: ScannedObject, type: string | null): ByteEdit[] {
  const required = type === null ? undefined : BLOCK_MEMBERS.get(type);
  return required === undefined ? [] : memberEdits(block, { set: missingMembers(block, required) });
}
