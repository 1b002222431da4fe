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

/** Types of the tools that a caller runs. Each has its name in a field that is called like the type. */
const NAMED: readonly string[] = ['function', 'custom'];

/**
 * Checks `tool_choice`: a word, a function or custom tool by name, a tool by type, or some of the tools of the request.
 * Providers define additional words.
 */
export function findChatToolChoiceProblem(
  choice: unknown,
  { tools }: Readonly<Record<string, unknown>>,
): string | null {
  if (isNonEmptyString(choice)) return null;
  if (!isPlainObject(choice)) return ' must be a string or an object';
  const { type } = choice;
  if (!isNonEmptyString(type)) return '.type must be a non-empty string';
  if (type === 'allowed_tools') return findAllowedProblem(choice['allowed_tools'], tools);
  if (!NAMED.includes(type)) return null;
  return nameOf(choice, type) === null ? `.${type}.name must be a non-empty string` : null;
}

/** An allowed tool that is not there would leave fewer tools than the caller expects, or none. */
function findAllowedProblem(allowed: unknown, tools: unknown): string | null {
  const listed = isPlainObject(allowed) ? listOf(allowed['tools']) : [];
  for (const type of NAMED) {
    const offered = new Set(namesOf(listOf(tools), type));
    const at = namesOf(listed, type).findIndex((name) => name === null || (name !== undefined && !offered.has(name)));
    if (at !== -1) return `.allowed_tools.tools[${at}].${type}.name must name one of the tools`;
  }
  return null;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the name of each tool of a type; undefined for tools of other types. */
function namesOf(tools: readonly unknown[], type: string): readonly (string | null | undefined)[] {
  return tools.map((tool) => (isPlainObject(tool) && tool['type'] === type ? nameOf(tool, type) : undefined));
}

/** Returns the name of a tool, or of a chosen one; null if it has none. */
function nameOf(tool: Readonly<Record<string, unknown>>, type: string): string | null {
  const called = tool[type];
  return isPlainObject(called) && isNonEmptyString(called['name']) ? called['name'] : null;
}
