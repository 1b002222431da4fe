import { findReasoningSettingsProblem } from '../responses/responses-settings';
import { findElementsProblem, findMembersProblem, isBoolean, oneOf } from '../validation/member-checks';
import { isNonEmptyString, isPlainObject } from '../validation/well-formed';

/**
 * Checks `reasoning` of a chat completion: the fields of the Responses API, and whether thoughts are left out of the
 * answer.
 */
export function findChatReasoningProblem(reasoning: unknown): string | null {
  return findReasoningSettingsProblem(reasoning) ?? findMembersProblem(reasoning, { exclude: isBoolean });
}

/** Checks `modalities`: at least one of text, image and audio. */
export function findChatModalitiesProblem(modalities: unknown): string | null {
  return findElementsProblem(modalities, 1, 3, oneOf('text', 'image', 'audio'));
}

/** Checks `stream_options`: whether usage is wanted, which every stream has anyway. */
export function findStreamOptionsProblem(options: unknown): string | null {
  return findMembersProblem(options, { include_usage: isBoolean });
}

/** Checks `logit_bias`: a number for each token. */
export function findLogitBiasProblem(bias: unknown): string | null {
  const fits = isPlainObject(bias) && Object.values(bias).every((value) => typeof value === 'number');
  return fits ? null : ' must be an object of numbers';
}

/** Checks `prediction`: the expected main part of the answer, as text or parts of text. */
export function findPredictionProblem(prediction: unknown): string | null {
  if (!isPlainObject(prediction) || prediction['type'] !== 'content') return '.type must be content';
  const { content } = prediction;
  if (typeof content === 'string') return null;
  const problem = findElementsProblem(content, 0, 10_000, (part) =>
    isPlainObject(part) && typeof part['text'] === 'string' ? null : '.text must be a string',
  );
  return problem === null ? null : `.content${problem}`;
}

/**
 * Checks `tool_choice`: a word, a function by name, a tool by type, or some of the functions of the request. Providers
 * define additional words.
 */
export function findChatToolChoiceProblem(
  choice: unknown,
  { tools }: Readonly<Record<string, unknown>>,
): string | null {
  if (isNonEmptyString(choice)) return null;
  if (!isPlainObject(choice)) return ' must be a string or an object';
  if (!isNonEmptyString(choice['type'])) return '.type must be a non-empty string';
  if (choice['type'] === 'allowed_tools') return findAllowedProblem(choice['allowed_tools'], tools);
  if (choice['type'] !== 'function') return null;
  return nameOf(choice) === null ? '.function.name must be a non-empty string' : null;
}

function findAllowedProblem(allowed: unknown, tools: unknown): string | null {
  const listed = isPlainObject(allowed) && Array.isArray(allowed['tools']) ? (allowed['tools'] as unknown[]) : [];
  const offered = new Set(Array.isArray(tools) ? tools.map(nameOf) : []);
  const at = listed.findIndex(
    (tool) => isPlainObject(tool) && tool['type'] === 'function' && !offered.has(nameOf(tool)),
  );
  return at === -1 ? null : `.allowed_tools.tools[${at}].function.name must name one of the tools`;
}

/** Returns the name of a function, or of a chosen one; null if it has none. */
function nameOf(tool: unknown): string | null {
  const called = isPlainObject(tool) ? tool['function'] : null;
  return isPlainObject(called) && isNonEmptyString(called['name']) ? called['name'] : null;
}
