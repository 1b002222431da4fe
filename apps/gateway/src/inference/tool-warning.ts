import type { LossReport } from '@libs/inference';

/** Most names in the header, which must stay small; longer lists are cut. */
const MOST_NAMED = 16;
const TOOL_MEMBER = /^(?:tools(?:\.|$)|tool_choice$|functions$|function_call$|mcp_servers$|web_search_options$)/;
const FITS_HEADER = /^[\w:.-]{1,128}$/;

/**
 * Returns the value of the warning header for a call, such as `left out: tools.web_search`; null if the model got every
 * tool. Agents do not request metadata, and without the header could think that the model chose not to use a tool.
 */
export function toolWarning({ dropped }: LossReport): string | null {
  const tools = dropped
    .filter((member) => TOOL_MEMBER.test(member))
    .map((member) => (FITS_HEADER.test(member) ? member : 'tools.type'));
  return tools.length === 0 ? null : `left out: ${[...new Set(tools)].slice(0, MOST_NAMED).join(', ')}`;
}
