import type { Json, JsonRecord } from './any-value';
import type { CallerApi } from './audited-endpoint';

export type Path = readonly (string | number)[];

/** A member of a request, and the request. */
export interface Member {
  readonly path: Path;
  readonly value: Json;
  readonly body: JsonRecord;
}

/** Members that are for the gateway: routing, plugins, its own tools, traces. No provider is sent them. */
const FOR_THE_GATEWAY: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'stream_options',
  'provider',
  'models',
  'fallbacks',
  'route',
  'plugins',
  'session_id',
  'trace',
  'debug',
  'max_tool_calls',
  'stop_server_tools_when',
  'include_reasoning',
  'deferred_tools',
]);

/** What is the case anyway: every API does this where nothing is said. Values by the last name of their path. */
const NO_DIFFERENCE: Readonly<Record<string, readonly Json[]>> = {
  logprobs: [false],
  detail: ['auto'],
  strict: [false],
  store: [false],
  background: [false],
  truncation: ['disabled'],
  is_error: [false],
  status: ['completed'],
  speed: ['standard'],
  service_tier: ['auto', 'default', 'standard_only'],
  exclude: [false],
  disable_parallel_tool_use: [false],
  parallel_tool_calls: [true],
  frequency_penalty: [0],
  presence_penalty: [0],
  reasoning_effort: ['none'],
  role: ['user'],
  mode: ['explicit'],
  tool_choice: ['auto'],
  media_type: ['text/plain'],
};

/** Settings that say nothing where there is no tool to call. */
const OF_TOOLS: Readonly<Record<string, readonly Json[]>> = {
  tool_choice: ['auto', 'none'],
  parallel_tool_calls: [true, false],
};

/** Older names of settings, which do not count next to the newer ones. */
const OLDER: Readonly<Record<string, string>> = { max_tokens: 'max_completion_tokens', user: 'safety_identifier' };

/** Whole values that are the case anyway. */
const DEFAULTS: ReadonlySet<string> = new Set([
  'modalities ["text"]',
  'response_format {"type":"text"}',
  'format {"type":"text"}',
  'text {"format":{"type":"text"}}',
  'caller {"type":"direct"}',
  'summary []',
  'include []',
  'text {}',
  'output_config {}',
  // Which form the gateway's own answer has.
  'include ["reasoning.encrypted_content"]',
]);

/**
 * Names that an API gives to what it said, and places in a list. Calls and their results, the only things that refer to
 * each other, follow each other, and some APIs match them by that.
 */
const BOOKKEEPING: ReadonlySet<string> = new Set(['id', 'index', 'tool_call_id', 'call_id', 'tool_use_id', 'format']);
const SAID: ReadonlySet<string> = new Set(['messages', 'input']);
/** A schema of the answer has a name in some APIs only; those that take no `strict` always follow the schema. */
const OF_FORMATS: ReadonlySet<string> = new Set(['name', 'strict']);
const FORMATS: ReadonlySet<string> = new Set(['response_format', 'text']);

type Rule = (name: string, member: Member, api: CallerApi) => boolean;

const RULES: readonly Rule[] = [
  // What is around an object shows what it is, and its other members are looked at.
  (name) => name === 'type',
  (name, { value }) => NO_DIFFERENCE[name]?.includes(value) === true,
  (name, { value }) => DEFAULTS.has(`${name} ${JSON.stringify(value)}`),
  // Functions are not to be called, or arguments of forced calls follow the schema, or another makes all strict.
  (name, { path, body }) => path[0] === 'tools' && name === 'strict' && isStrictAnyway(body),
  (name, { path }) => SAID.has(String(path[0])) && BOOKKEEPING.has(name),
  (name, { path }) => path.length > 1 && OF_FORMATS.has(name) && FORMATS.has(String(path[0])),
  (name, { path, body }) => path.length === 1 && (FOR_THE_GATEWAY.has(name) || (OLDER[name] ?? '') in body),
  (name, { path, value, body }) =>
    path.length === 1 && body['tools'] === undefined && OF_TOOLS[name]?.includes(modeOf(value)) === true,
  (_name, { path, body }) => isSaidElsewhere(path, body),
  (name, { value }, api) => name === 'tool_choice' && api === 'messages' && isFree(value as JsonRecord),
  // No model is to call them.
  (name, { path, body }) => path.length === 1 && name === 'tools' && body['tool_choice'] === 'none',
  // `top_logprobs` asks for log probabilities too.
  (name, { value, body }) => name === 'include' && body['top_logprobs'] !== undefined && isOfLogprobs(value),
  (_name, { path, body }) => path[0] === 'thinking' && isOfThinking(path, body),
  (_name, { path, body }, api) => path[0] === 'reasoning' && isOfReasoning(api, String(path[1]), body),
  (name, { body }) => name === 'reasoning_effort' && decidesOtherwise((body['reasoning'] ?? {}) as JsonRecord),
];

/** Whether a member may be missing from what the provider is sent, without a word. */
export function isExpected(api: CallerApi, member: Member): boolean {
  const name = String(member.path.at(-1));
  return RULES.some((rule) => rule(name, member, api));
}

function isStrictAnyway({ tools, tool_choice: choice = 'auto' }: JsonRecord): boolean {
  return modeOf(choice) !== 'auto' || JSON.stringify(tools).split('"strict":true').length > 2;
}

/** The messages API has its modes in objects. */
function modeOf(value: Json): Json {
  const type = (value as JsonRecord | null)?.['type'];
  return type === undefined ? value : type;
}

/** Whether a model may call what it likes, as it may without the member. */
function isFree({ type, disable_parallel_tool_use: isOneByOne = false, ...others }: JsonRecord): boolean {
  return type === 'auto' && isOneByOne === false && Object.keys(others).length === 0;
}

function isOfLogprobs(value: Json): boolean {
  const known = ['reasoning.encrypted_content', 'message.output_text.logprobs'];
  return Array.isArray(value) && value.every((one) => known.includes(one as string));
}

/** Whether the same is said in another member: a thought in its details, an end user in the metadata. */
function isSaidElsewhere(path: Path, body: JsonRecord): boolean {
  const name = path.at(-1);
  if (name === 'user') return (body['metadata'] as JsonRecord | undefined)?.['user_id'] !== undefined;
  if (path[0] !== 'messages' || name !== 'reasoning') return false;
  const message = (body['messages'] as readonly JsonRecord[])[Number(path[1])];
  return message?.['reasoning_details'] !== undefined;
}

/** What is to be off is off at the endpoints of the audit. A known gap: `display` is not named where it is lost. */
function isOfThinking(path: Path, body: JsonRecord): boolean {
  return path[1] === 'display' || (body['thinking'] as JsonRecord)['type'] === 'disabled';
}

function decidesOtherwise(reasoning: JsonRecord): boolean {
  return reasoning['effort'] !== undefined || reasoning['enabled'] === false;
}

/** Whether another setting of thoughts decides: none are wanted, they are not shown, or it says how much. */
function isOfReasoning(api: CallerApi, name: string, body: JsonRecord): boolean {
  const reasoning = body['reasoning'] as JsonRecord;
  if (name === 'exclude') return api === 'chat';
  if (name === 'enabled') {
    return (
      ['effort', 'max_tokens', 'summary'].some((other) => reasoning[other] !== undefined) &&
      reasoning['enabled'] === true
    );
  }
  return (
    reasoning['enabled'] === false ||
    reasoning['effort'] === 'none' ||
    (name === 'summary' && reasoning['exclude'] === true)
  );
}
