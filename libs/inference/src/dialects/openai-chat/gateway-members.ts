import { GATEWAY_MEMBERS } from '../request-members';

/**
 * Chat request fields that only the gateway reads: the maximum of tool calls to run, and whether to show thoughts,
 * which the gateway removes from the answer.
 */
export const CHAT_GATEWAY_MEMBERS: readonly string[] = [...GATEWAY_MEMBERS, 'max_tool_calls', 'include_reasoning'];
