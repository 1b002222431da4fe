/** A field of the gateway that has no effect in this API, and is reported as left out. */
export const UNSERVED_MEMBER = 'debug';

/** Fields of a request that are for the gateway; no upstream is sent them. */
export const MESSAGES_GATEWAY_MEMBERS: readonly string[] = [
  'provider',
  'models',
  'fallbacks',
  'plugins',
  'route',
  'preset',
  'session_id',
  'trace',
  UNSERVED_MEMBER,
  'user',
  'max_tool_calls',
  'stop_server_tools_when',
];
