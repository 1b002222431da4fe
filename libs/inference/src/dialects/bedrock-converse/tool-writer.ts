import { defined, objectOf, stringOf } from '@libs/json';
import type { CanonicalRequest, ToolChoice, ToolDefinition } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import { inputSchema } from '../closed-schema';
import { cachePoint } from './cache-mark';
import type { Conversation } from './conversation-writer';
import type { ModelFamily } from './traits';

/**
 * Returns the tools that the model may use and how it must choose. Bedrock requires tools if the conversation
 * used some: if the caller lists none any more, the tools that were used are sent instead.
 */
export function writeToolConfig(
  request: CanonicalRequest,
  conversation: Conversation,
  family: ModelFamily,
  log: LossLog,
): object | undefined {
  const used = toolsUsed(conversation);
  if (request.tools.length === 0) return writeUsed(request, used, log);
  const { tools, toolChoice, areParallelToolCallsAllowed: isParallel } = request;
  if (toolChoice?.type === 'none') {
    if (used === null) return undefined;
    log.approximate('tool_choice');
  }
  if (isParallel === false) log.drop('parallel_tool_calls');
  return defined({
    tools: tools.flatMap((tool) => writeTool(tool, family, log)),
    toolChoice: writeToolChoice(toolChoice),
  });
}

function writeUsed(
  { toolChoice }: CanonicalRequest,
  used: ReadonlySet<string> | null,
  log: LossLog,
): object | undefined {
  if (toolChoice !== undefined && toolChoice.type !== 'none') log.drop('tool_choice');
  if (used === null) return undefined;
  log.approximate('tools');
  return { tools: [...used].map((name) => specOf({ name, parameters: null }, false, log)) };
}

/** Returns the names of the tools that a conversation used; null if it shows no tool use and no result. */
function toolsUsed({ turns }: Conversation): ReadonlySet<string> | null {
  const blocks = turns.flatMap(({ content }) => content);
  if (!blocks.some(({ kind }) => kind === 'toolUse' || kind === 'toolResult')) return null;
  const names = blocks.flatMap(({ kind, value }) =>
    kind === 'toolUse' ? [stringOf(objectOf(value)['name']) ?? ''] : [],
  );
  return new Set(names.length > 0 ? names : ['tool']);
}

function writeTool(tool: ToolDefinition, family: ModelFamily, log: LossLog): readonly object[] {
  const isStrict = tool.strict === true && family.takesSchema;
  if (tool.strict === true && !isStrict) log.drop('strict');
  return [specOf(tool, isStrict, log), ...cachePoint(tool.cache, 'tools', family, log)];
}

function specOf(tool: ToolDefinition, isStrict: boolean, log: LossLog): object {
  const { name, description } = tool;
  return {
    toolSpec: {
      name,
      ...(description && { description }),
      inputSchema: { json: inputSchema(tool, isStrict, log) },
      ...(isStrict && { strict: true }),
    },
  };
}

function writeToolChoice(choice: ToolChoice | undefined): object | undefined {
  switch (choice?.type) {
    case 'tool':
      return { tool: { name: choice.name } };
    case 'required':
      return { any: {} };
    case 'auto':
      return { auto: {} };
    default:
      return undefined;
  }
}
