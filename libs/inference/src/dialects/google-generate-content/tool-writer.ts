import { defined } from '@libs/json';
import type { CanonicalRequest, ToolDefinition } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';

/** Returns `tools` and `toolConfig`; neither if the request has no tools. */
export function writeTools(request: CanonicalRequest, log: LossLog): object {
  const { tools, toolChoice, areParallelToolCallsAllowed } = request;
  if (tools.length === 0) {
    if (toolChoice !== undefined && toolChoice.type !== 'none') log.drop('tool_choice');
    return {};
  }
  if (areParallelToolCallsAllowed === false) log.drop('parallel_tool_calls');
  const functionCallingConfig = callingConfig(request);
  return {
    tools: [{ functionDeclarations: tools.map((tool) => writeTool(tool, log)) }],
    ...(functionCallingConfig && { toolConfig: { functionCallingConfig } }),
  };
}

function writeTool({ name, description, parameters, cache }: ToolDefinition, log: LossLog): object {
  if (cache) log.drop('cache_control');
  return defined({ name, description, parametersJsonSchema: parameters ?? undefined });
}

/** Forced calls always follow the schema; optional calls follow it only in the mode `VALIDATED`. */
function callingConfig({ tools, toolChoice }: CanonicalRequest): object | undefined {
  switch (toolChoice?.type) {
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [toolChoice.name] };
    case 'required':
      return { mode: 'ANY' };
    case 'none':
      return { mode: 'NONE' };
    case 'auto':
    case undefined:
      if (tools.some(({ strict }) => strict === true)) return { mode: 'VALIDATED' };
      return toolChoice && { mode: 'AUTO' };
  }
}
