import { isObject, textOf, type JsonObject } from '../http/json-members';
import { SandboxError } from '../http/sandbox-error';
import type { ToolChoice } from './answer';

const MODES: ReadonlySet<unknown> = new Set(['auto', 'none', 'required']);

/**
 * Reads `tool_choice` of the two OpenAI dialects. Chat nests the function's name, Responses does not. Only the mode of
 * `allowed_tools` is used. A choice of a tool that the provider would run itself is read as auto.
 */
export function readToolChoice(choice: unknown): ToolChoice {
  if (choice === undefined || choice === null) return 'auto';
  if (isMode(choice)) return choice;
  if (!isObject(choice) || typeof choice.type !== 'string') throw refusal();
  if (choice.type === 'allowed_tools') return modeOf(isObject(choice.allowed_tools) ? choice.allowed_tools : choice);
  return choice.type === 'function' ? namedFunction(choice) : 'auto';
}

function namedFunction(choice: JsonObject): ToolChoice {
  const name = textOf((isObject(choice.function) ? choice.function : choice).name);
  if (name === '') throw refusal();
  return { name };
}

function modeOf(allowedTools: JsonObject): ToolChoice {
  return isMode(allowedTools.mode) ? allowedTools.mode : 'auto';
}

function isMode(value: unknown): value is 'auto' | 'none' | 'required' {
  return MODES.has(value);
}

function refusal(): SandboxError {
  return new SandboxError(400, "'tool_choice' is not a known choice", 'tool_choice');
}
