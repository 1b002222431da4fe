import { GATEWAY_MEMBERS } from '../request-members';

/**
 * Members of a chat request that are between the caller and us: how long our own tools may go on, and whether thoughts
 * are shown, which is settled where the answer is handed on.
 */
export const CHAT_GATEWAY_MEMBERS: readonly string[] = [...GATEWAY_MEMBERS, 'max_tool_calls', 'include_reasoning'];
