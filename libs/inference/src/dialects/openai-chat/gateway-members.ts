import { GATEWAY_MEMBERS } from '../request-members';

/**
 * Fields of a chat request that are for the gateway only: how many of its tool calls may run, and whether to show
 * thoughts, which the gateway removes from the answer.
 */
export const CHAT_GATEWAY_MEMBERS: readonly string[] = [...GATEWAY_MEMBERS, 'max_tool_calls', 'include_reasoning'];
