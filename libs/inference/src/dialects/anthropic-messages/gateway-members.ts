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
