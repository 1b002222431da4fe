import type { ToolChoice, ToolDefinition } from '../../model/canonical-request';
import { booleanOf, fieldsOf, listOf, present, textOf, type Fields } from './fields';
import { readCacheMark } from './read-parts';
import { CUSTOM_INPUT } from './read-input';

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
  const definitions = listOf(tools).flatMap((tool) => readTool(tool, unread) ?? []);
  const chosen = fieldsOf(choice);
  if (chosen === null) return present({ tools: definitions, toolChoice: modeOf(choice) });
  if (chosen['type'] === 'allowed_tools') {
    const allowed = new Set(listOf(chosen['tools']).map(({ name }) => name));
    return present({
      tools: definitions.filter(({ name }) => allowed.has(name)),
      toolChoice: modeOf(chosen['mode']),
    });
  }
  const name = textOf(chosen['name']);
  if (name !== undefined && (chosen['type'] === 'function' || chosen['type'] === 'custom')) {
    return { tools: definitions, toolChoice: { type: 'tool', name } };
  }
  unread.add('tool_choice');
  return { tools: definitions };
}

function modeOf(choice: unknown): ToolChoice | undefined {
  return choice === 'auto' || choice === 'none' || choice === 'required' ? { type: choice } : undefined;
}

function readTool(tool: Fields, unread: Set<string>): ToolDefinition | null {
  const name = textOf(tool['name']);
  const description = textOf(tool['description']);
  const cache = readCacheMark(tool);
  if (name !== undefined && tool['type'] === 'function') {
    const strict = booleanOf(tool['strict']);
    return present({ name, description, parameters: fieldsOf(tool['parameters']), strict, cache });
  }
  if (name !== undefined && tool['type'] === 'custom') {
    if (fieldsOf(tool['format'])?.['type'] === 'grammar') unread.add('tools.format');
    return present({ name, description, parameters: CUSTOM_PARAMETERS, cache });
  }
  unread.add(`tools.${textOf(tool['type']) ?? 'type'}`);
  return null;
}
