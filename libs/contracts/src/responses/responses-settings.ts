import {
  findElementsProblem,
  findMembersProblem,
  isBoolean,
  isLength,
  isWord,
  oneOf,
  text,
  wholeNumber,
  type MemberCheck,
} from '../validation/member-checks';
import { isNonEmptyString, isPlainObject } from '../validation/well-formed';
import { findSchemaProblem } from './json-schema-limits';

const MAX_TOKENS = 10_000_000;
const MAX_TRACE_KEYS = 64;
const MAX_PAIRS = 16;
const NAME = /^[\w-]{1,64}$/;

/** Checks `reasoning`; every field may be null. Fields that decide the price must have a known value. */
export function findReasoningSettingsProblem(reasoning: unknown): string | null {
  return findMembersProblem(reasoning, {
    effort: isWord,
    summary: isWord,
    enabled: isBoolean,
    max_tokens: wholeNumber(1, MAX_TOKENS),
    context: isWord,
    mode: oneOf('standard', 'pro'),
  });
}

/** Checks `text`: the format of the answer and how much of it is wanted. */
export function findTextSettingsProblem(settings: unknown): string | null {
  return findMembersProblem(settings, {
    format: findFormatProblem,
    verbosity: isWord,
  });
}

function findFormatProblem(format: unknown): string | null {
  if (!isPlainObject(format)) return ' must be an object';
  const { type, name, schema } = format;
  // Providers define types in addition to text, json_object and json_schema.
  if (!isNonEmptyString(type)) return '.type must be a non-empty string';
  if (type !== 'json_schema') return null;
  if (typeof name !== 'string' || !NAME.test(name)) {
    return '.name must be 1 to 64 letters, digits, underscores or dashes';
  }
  const invalid = findSchemaProblem(schema);
  if (invalid !== null) return `.schema${invalid}`;
  return findMembersProblem(format, { strict: isBoolean, description: text(0, MAX_TOKENS) });
}

const INCLUDED = oneOf(
  'file_search_call.results',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'reasoning.encrypted_content',
  'code_interpreter_call.outputs',
  'message.output_text.logprobs',
  'web_search_call.action.sources',
);

/** Checks `include`: extra output that is known. */
export function findIncludeProblem(include: unknown): string | null {
  return findElementsProblem(include, 0, 16, INCLUDED);
}

/** Checks `modalities`: at least one of text and image. */
export function findModalitiesProblem(modalities: unknown): string | null {
  return findElementsProblem(modalities, 1, 2, oneOf('text', 'image'));
}

/** Checks `metadata`: at most 16 pairs of text. Lengths count code points. */
export function findResponseMetadataProblem(metadata: unknown): string | null {
  if (!isPlainObject(metadata)) return ' must be an object';
  const pairs = Object.entries(metadata);
  if (pairs.length > MAX_PAIRS) return ` has more than ${MAX_PAIRS} pairs`;
  const isPair = ([key, value]: readonly [string, unknown]): boolean =>
    isLength(key, 1, 64) && !/[[\]]/.test(key) && typeof value === 'string' && isLength(value, 0, 512);
  return pairs.every(isPair) ? null : ' must hold keys of 1 to 64 and texts of at most 512 characters, no brackets';
}

const TRACE_KEYS = ['trace_id', 'trace_name', 'span_name', 'generation_name', 'parent_span_id'];

/** Checks `trace`: known keys are text; others are not checked. */
export function findTraceProblem(trace: unknown): string | null {
  if (!isPlainObject(trace)) return ' must be an object';
  if (Object.keys(trace).length > MAX_TRACE_KEYS) return ` has more than ${MAX_TRACE_KEYS} keys`;
  return findMembersProblem(trace, Object.fromEntries(TRACE_KEYS.map((key) => [key, text(0, 1_024)])));
}

/** Checks `prompt`: a template at the provider and its variables. */
export function findPromptTemplateProblem(prompt: unknown): string | null {
  if (!isPlainObject(prompt)) return ' must be an object';
  const problem = text(1, 256)(prompt['id']);
  if (problem !== null) return `.id${problem}`;
  return findMembersProblem(prompt, { variables: isObject });
}

/** Checks `prompt_cache_options`. */
export function findPromptCacheOptionsProblem(options: unknown): string | null {
  if (!isPlainObject(options)) return ' must be an object';
  const problem = oneOf('explicit')(options['mode']);
  if (problem !== null) return `.mode${problem}`;
  return findMembersProblem(options, { ttl: text(1, 16) });
}

/** Checks `debug`: the echo of the upstream's body is an event, so it needs a stream. */
export function findDebugProblem(debug: unknown, { stream }: Readonly<Record<string, unknown>>): string | null {
  const problem = findMembersProblem(debug, { echo_upstream_body: isBoolean });
  if (problem !== null) return problem;
  const isEcho = (debug as Record<string, unknown>)['echo_upstream_body'] === true;
  return isEcho && stream !== true ? '.echo_upstream_body must be false without stream' : null;
}

const DEFERRED: Readonly<Record<string, MemberCheck>> = {
  protocol: oneOf('v1'),
  profile: oneOf('portable'),
  validation: oneOf('runtime'),
};

/** Checks `deferred_tools`: only one protocol exists, and the search method is required. */
export function findDeferredToolsProblem(settings: unknown): string | null {
  const problem = findMembersProblem(settings, DEFERRED);
  if (problem !== null) return problem;
  const { search } = settings as Record<string, unknown>;
  if (!isPlainObject(search)) return '.search must be an object';
  const kind = oneOf('bm25', 'regex', 'custom')(search['type']);
  if (kind !== null) return `.search.type${kind}`;
  const inner = findMembersProblem(search, { max_results: wholeNumber(1, 1_000) });
  return inner === null ? null : `.search${inner}`;
}

function isObject(value: unknown): string | null {
  return isPlainObject(value) ? null : ' must be an object';
}
