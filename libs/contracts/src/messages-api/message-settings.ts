import { findMembersProblem, isWord } from '../validation/member-checks';
import { isAbsent, isNonEmptyString, isPlainObject } from '../validation/well-formed';
import { findCacheControlProblem } from '../inference/cache-control';
import { findServerUrlProblem } from '../links/media-links';
import { firstProblem } from './message-content';

const MAX_TOOL_NAME = 128;
const MAX_FALLBACKS = 3;
const MAX_MODEL = 256;
const LEAST_THINKING_TOKENS = 1_024;
const LEAST_TASK_TOKENS = 20_000;

function isWhole(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

/** Checks `tools`: a tool of the caller's own has a name and a schema; tools of other types have a type. */
export function findMessageToolsProblem(tools: unknown): string | null {
  return Array.isArray(tools) ? firstProblem(tools, findToolProblem) : ' must be an array';
}

function findToolProblem(tool: unknown): string | null {
  if (!isPlainObject(tool)) return ' must be an object';
  const { type, cache_control: control } = tool;
  if (!isAbsent(type) && !isNonEmptyString(type)) return '.type must be a non-empty string';
  const problem = isAbsent(control) ? null : findCacheControlProblem(control);
  if (problem !== null) return `.cache_control${problem}`;
  return isAbsent(type) || type === 'custom' ? findCustomToolProblem(tool) : null;
}

function findCustomToolProblem({ name, description, input_schema: schema }: Record<string, unknown>): string | null {
  if (!isNonEmptyString(name) || name.length > MAX_TOOL_NAME || !/^[\w-]+$/.test(name)) {
    return `.name must be 1 to ${MAX_TOOL_NAME} letters, digits, underscores or dashes`;
  }
  if (!isAbsent(description) && typeof description !== 'string') return '.description must be a string';
  return isPlainObject(schema) ? null : '.input_schema must be an object';
}

/** Checks `mcp_servers`: each has an address on a public host. */
export function findMcpServersProblem(servers: unknown): string | null {
  if (!Array.isArray(servers)) return ' must be an array';
  return firstProblem(servers, (server) => {
    if (!isPlainObject(server)) return ' must be an object';
    const problem = findServerUrlProblem(server.url);
    return problem === null ? null : `.url${problem}`;
  });
}

/** Checks `tool_choice`. */
export function findMessageToolChoiceProblem(choice: unknown): string | null {
  if (!isPlainObject(choice)) return ' must be an object';
  const problem = isWord(choice.type);
  if (problem !== null) return `.type${problem}`;
  if (choice.type === 'tool' && !isNonEmptyString(choice.name)) return '.name must be a non-empty string';
  const { disable_parallel_tool_use: isDisabled } = choice;
  return isAbsent(isDisabled) || typeof isDisabled === 'boolean'
    ? null
    : '.disable_parallel_tool_use must be a boolean';
}

/** Checks `thinking`. */
export function findThinkingProblem(thinking: unknown): string | null {
  if (!isPlainObject(thinking)) return ' must be an object';
  const problem = isWord(thinking.type);
  if (problem !== null) return `.type${problem}`;
  if (thinking.type === 'enabled' && !isWhole(thinking.budget_tokens, LEAST_THINKING_TOKENS)) {
    return `.budget_tokens must be an integer of at least ${LEAST_THINKING_TOKENS}`;
  }
  return findMembersProblem(thinking, { display: isWord });
}

/** Checks `output_config`: the effort, a JSON schema for the answer, and a budget for the whole task. */
export function findOutputConfigProblem(config: unknown): string | null {
  if (!isPlainObject(config)) return ' must be an object';
  return findMembersProblem(config, { effort: isWord, format: findFormatProblem, task_budget: findBudgetProblem });
}

function findFormatProblem(format: unknown): string | null {
  if (!isPlainObject(format)) return ' must be an object';
  const problem = isWord(format.type);
  if (problem !== null) return `.type${problem}`;
  return format.type !== 'json_schema' || isPlainObject(format.schema) ? null : '.schema must be an object';
}

function findBudgetProblem(budget: unknown): string | null {
  if (!isPlainObject(budget) || budget.type !== 'tokens') return '.type must be tokens';
  if (!isWhole(budget.total, LEAST_TASK_TOKENS)) return `.total must be an integer of at least ${LEAST_TASK_TOKENS}`;
  const { remaining } = budget;
  return isAbsent(remaining) || isWhole(remaining, 0) ? null : '.remaining must be an integer';
}

/** Checks `context_management`: each edit must have a type. */
export function findContextManagementProblem(management: unknown): string | null {
  if (!isPlainObject(management)) return ' must be an object';
  const { edits } = management;
  if (isAbsent(edits)) return null;
  if (!Array.isArray(edits)) return '.edits must be an array';
  const problem = firstProblem(edits, (edit) =>
    isPlainObject(edit) && isNonEmptyString(edit.type) ? null : '.type must be a non-empty string',
  );
  return problem === null ? null : `.edits${problem}`;
}

/** Checks `fallbacks`: at most three models with only their names, and not together with `models`. */
export function findFallbacksProblem(fallbacks: unknown, { models }: Readonly<Record<string, unknown>>): string | null {
  if (!isAbsent(models)) return ' must not be given together with models';
  if (!Array.isArray(fallbacks) || fallbacks.length > MAX_FALLBACKS) {
    return ` must be an array of at most ${MAX_FALLBACKS} models`;
  }
  return firstProblem(fallbacks, findFallbackProblem);
}

function findFallbackProblem(fallback: unknown): string | null {
  if (!isPlainObject(fallback)) return ' must be an object';
  if (Object.keys(fallback).some((name) => name !== 'model')) return ' must hold model only';
  const { model } = fallback;
  const fits =
    isNonEmptyString(model) && model.length <= MAX_MODEL && !model.includes('\u0000') && model.isWellFormed();
  return fits ? null : `.model must be text of 1 to ${MAX_MODEL} characters`;
}

/** Checks `metadata`: an id of the end user, if anything. */
export function findMessageMetadataProblem(metadata: unknown): string | null {
  if (!isPlainObject(metadata)) return ' must be an object';
  const { user_id: user } = metadata;
  const fits = isAbsent(user) || (typeof user === 'string' && user.length <= 512);
  return fits ? null : '.user_id must be a string of at most 512 characters';
}
