import type { Endpoint } from '../../catalogue/catalogue';

/** Members of a body that are between the caller and us. */
export const MESSAGES_GATEWAY_MEMBERS: readonly string[] = [
  'provider',
  'models',
  'fallbacks',
  'plugins',
  'route',
  'preset',
  'session_id',
  'trace',
  'debug',
  'user',
  'max_tool_calls',
  'stop_server_tools_when',
];

const DEFAULT_MAX_TOKENS = 4_096;

/** The upstream asks for a bound where callers need not give one. */
export function maxTokensOf({ maxCompletionTokens }: Endpoint): number {
  return maxCompletionTokens ?? DEFAULT_MAX_TOKENS;
}
