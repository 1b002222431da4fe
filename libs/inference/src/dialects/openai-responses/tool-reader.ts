import { booleanOf, defined, objectOf, objectOrNull, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { ToolChoice, ToolDefinition } from '../../model/canonical-request';
import { FREE_TEXT_PARAMETERS, readFreeText } from '../free-text-tools';
import { lostTool } from '../known-members';
import { readCacheMark } from './content-reader';
import type { FlatTool, ToolNames } from './tool-names';

export interface ToolSettings {
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
}

/**
 * Returns the functions of a request and the choice among them, including functions in namespaces and in the input.
 * Adds tools that run at the gateway or a provider to `unread`.
 */
export function readTools(names: ToolNames, choice: unknown, unread: Set<string>): ToolSettings {
  const definitions = names.tools.flatMap((tool) => readTool(tool, unread) ?? []);
  const chosen = objectOrNull(choice);
  if (chosen === null) {
    const mode = modeOf(choice);
    if (typeof choice === 'string' && mode === undefined) unread.add('tool_choice');
    return defined({ tools: definitions, toolChoice: mode });
  }
  if (chosen['type'] === 'allowed_tools') {
    const allowed = allowedNames(objectsOf(chosen['tools']), names);
    return defined({
      tools: definitions.filter(({ name }) => allowed.has(name)),
      toolChoice: modeOf(chosen['mode']),
    });
  }
  const name = chosenName(chosen, names);
  if (name !== undefined && (chosen['type'] === 'function' || chosen['type'] === 'custom')) {
    return { tools: definitions, toolChoice: { type: 'tool', name } };
  }
  unread.add('tool_choice');
  return { tools: definitions };
}

/**
 * Returns the names of the allowed tools. An allowed namespace allows all of its tools; a bare name allows the tools of
 * that name.
 */
function allowedNames(chosen: readonly JsonObject[], names: ToolNames): ReadonlySet<string> {
  const isAllowed = (flatName: string): boolean => {
    const place = names.placeOf(flatName);
    return chosen.some(({ type, name, namespace }) =>
      type === 'namespace'
        ? name === place?.namespace && name !== undefined
        : name === place?.name && (namespace === undefined || namespace === place?.namespace),
    );
  };
  return new Set(names.tools.flatMap(({ name }) => (isAllowed(name) ? [name] : [])));
}

function chosenName(chosen: JsonObject, names: ToolNames): string | undefined {
  const name = stringOf(chosen['name']);
  const namespace = stringOf(chosen['namespace']);
  if (name === undefined) return undefined;
  if (namespace !== undefined || names.placeOf(name) !== undefined) return names.flatName(name, namespace);
  return names.tools.find((one) => names.placeOf(one.name)?.name === name)?.name ?? name;
}

function modeOf(choice: unknown): ToolChoice | undefined {
  return choice === 'auto' || choice === 'none' || choice === 'required' ? { type: choice } : undefined;
}

function readTool({ name, tool }: FlatTool, unread: Set<string>): ToolDefinition | null {
  const description = stringOf(tool['description']);
  const cache = readCacheMark(tool);
  if (name !== '' && tool['type'] === 'function') {
    const strict = booleanOf(tool['strict']);
    return defined({ name, description, parameters: objectOrNull(tool['parameters']), strict, cache });
  }
  if (name !== '' && tool['type'] === 'custom') {
    const freeText = readFreeText(objectOf(tool['format']), 'tools.format', unread);
    return defined({ name, description, parameters: FREE_TEXT_PARAMETERS, freeText, cache });
  }
  unread.add(lostTool(stringOf(tool['type']) ?? ''));
  return null;
}
