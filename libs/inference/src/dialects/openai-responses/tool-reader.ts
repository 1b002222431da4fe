import { booleanOf, defined, objectOf, objectOrNull, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { ToolChoice, ToolDefinition } from '../../model/canonical-request';
import { readCacheMark } from './content-reader';
import { CUSTOM_INPUT } from './conversation-reader';

export interface ToolSettings {
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
}

/** A tool that takes free text, as a function with one text. */
const CUSTOM_PARAMETERS = {
  type: 'object',
  properties: { [CUSTOM_INPUT]: { type: 'string' } },
  required: [CUSTOM_INPUT],
  additionalProperties: false,
} as const;

/** The functions of a request and which of them to use. Tools that run at the gateway or a provider are `unread`. */
export function readTools(tools: unknown, choice: unknown, unread: Set<string>): ToolSettings {
  const definitions = objectsOf(tools).flatMap((tool) => readTool(tool, unread) ?? []);
  const chosen = objectOrNull(choice);
  if (chosen === null) return defined({ tools: definitions, toolChoice: modeOf(choice) });
  if (chosen['type'] === 'allowed_tools') {
    const allowed = new Set(objectsOf(chosen['tools']).map(({ name }) => name));
    return defined({
      tools: definitions.filter(({ name }) => allowed.has(name)),
      toolChoice: modeOf(chosen['mode']),
    });
  }
  const name = stringOf(chosen['name']);
  if (name !== undefined && (chosen['type'] === 'function' || chosen['type'] === 'custom')) {
    return { tools: definitions, toolChoice: { type: 'tool', name } };
  }
  unread.add('tool_choice');
  return { tools: definitions };
}

function modeOf(choice: unknown): ToolChoice | undefined {
  return choice === 'auto' || choice === 'none' || choice === 'required' ? { type: choice } : undefined;
}

function readTool(tool: JsonObject, unread: Set<string>): ToolDefinition | null {
  const name = stringOf(tool['name']);
  const description = stringOf(tool['description']);
  const cache = readCacheMark(tool);
  if (name !== undefined && tool['type'] === 'function') {
    const strict = booleanOf(tool['strict']);
    return defined({ name, description, parameters: objectOrNull(tool['parameters']), strict, cache });
  }
  if (name !== undefined && tool['type'] === 'custom') {
    if (objectOf(tool['format'])['type'] === 'grammar') unread.add('tools.format');
    return defined({ name, description, parameters: CUSTOM_PARAMETERS, cache });
  }
  unread.add(`tools.${stringOf(tool['type']) ?? 'type'}`);
  return null;
}
