import {
  findElementsProblem,
  findMembersProblem,
  isBoolean,
  oneOf,
  text,
  wholeNumber,
  type MemberCheck,
} from '../validation/member-checks';
import { findServerUrlProblem } from '../links/media-links';
import { isNonEmptyString, isPlainObject } from '../validation/well-formed';
import { findParametersProblem, SchemaBudget } from './json-schema-limits';

const MAX_TOOLS = 512;
const MAX_CONDITIONS = 64;
const MAX_COUNT = 1_000_000_000;
const TOOL_NAME = /^[\w-]{1,64}$/;

/** The longest type of a tool. */
const LONGEST_TYPE = 128;

type Fields = Record<string, unknown>;

/** Checks `tools`: functions, tools with free text, namespaces of both, and tools of providers and of the gateway. */
export function findResponsesToolsProblem(tools: unknown): string | null {
  return findListedToolsProblem(tools, new SchemaBudget());
}

/** Checks one of the tool lists of a request, whose schemas share a size limit. */
export function findListedToolsProblem(tools: unknown, schemas: SchemaBudget): string | null {
  return findElementsProblem(tools, 0, MAX_TOOLS, (tool) => findToolProblem(tool, schemas));
}

function findToolProblem(tool: unknown, schemas: SchemaBudget): string | null {
  if (!isPlainObject(tool)) return ' must be an object';
  const { type } = tool;
  if (type === 'function') return findNameProblem(tool) ?? findFunctionProblem(tool, schemas);
  if (type === 'custom') return findNameProblem(tool);
  if (type === 'namespace') return findNamespaceProblem(tool, schemas);
  // Providers add types of tools: an unknown one is sent to endpoints with this API, or is refused later.
  const problem = text(1, LONGEST_TYPE)(type);
  if (problem !== null) return `.type${problem}`;
  return findMembersProblem(tool, {
    parameters: (value) => (isPlainObject(value) ? null : ' must be an object'),
    server_url: findServerUrlProblem,
  });
}

function findNameProblem({ name }: Fields): string | null {
  const fits = typeof name === 'string' && TOOL_NAME.test(name);
  return fits ? null : '.name must be 1 to 64 letters, digits, underscores or dashes';
}

function findFunctionProblem(tool: Fields, schemas: SchemaBudget): string | null {
  const isText: MemberCheck = (value) => (typeof value === 'string' ? null : ' must be text');
  const parameters: MemberCheck = (value) => findParametersProblem(value, schemas);
  return findMembersProblem(tool, { parameters, strict: isBoolean, description: isText });
}

function findNamespaceProblem(tool: Fields, schemas: SchemaBudget): string | null {
  const isInner: MemberCheck = (inner) => {
    const type = isPlainObject(inner) ? inner['type'] : null;
    const isInside = type === 'function' || type === 'custom';
    return isInside ? findToolProblem(inner, schemas) : '.type must be function or custom';
  };
  const problem = findElementsProblem(tool['tools'], 1, MAX_TOOLS, isInner);
  return findNameProblem(tool) ?? (problem === null ? null : `.tools${problem}`);
}

const NAMED = ['function', 'custom'];

/**
 * Checks `tool_choice` against the tools of the same request: the chosen tool must be listed. Providers define words in
 * addition to `auto`, `none` and `required`.
 */
export function findToolChoiceProblem(choice: unknown, request: Readonly<Record<string, unknown>>): string | null {
  const given = givenTools(request);
  if (typeof choice === 'string') {
    if (choice === '') return ' must not be empty';
    return choice === 'required' && given.length === 0 ? ' must not be required without tools' : null;
  }
  if (!isPlainObject(choice)) return ' must be text or an object';
  const offered = offeredBy(given);
  if (choice['type'] !== 'allowed_tools') return findChosenProblem(choice, offered);
  const mode = oneOf('auto', 'required')(choice['mode']);
  if (mode !== null) return `.mode${mode}`;
  const problem = findElementsProblem(choice['tools'], 1, MAX_TOOLS, (tool) =>
    isPlainObject(tool) ? findChosenProblem(tool, offered) : ' must be an object',
  );
  return problem === null ? null : `.tools${problem}`;
}

/** The tools of `tools` and of the items that bring more. */
function givenTools({ tools, input }: Readonly<Record<string, unknown>>): readonly Fields[] {
  const later = listOf(input).filter(({ type }) => type === 'additional_tools' || type === 'tool_search_output');
  return [tools, ...later.map((item) => item['tools'])].flatMap(listOf);
}

/** The tools that may be chosen, collected once for all choices. */
interface Offered {
  /** Names of the tools that the caller runs, including those in namespaces. */
  readonly names: ReadonlySet<unknown>;
  /** Names of the tools in each namespace. */
  readonly inside: ReadonlyMap<unknown, ReadonlySet<unknown>>;
  readonly families: ReadonlySet<string>;
}

function findChosenProblem({ type, name, namespace }: Fields, { names, inside, families }: Offered): string | null {
  if (!isNonEmptyString(type)) return '.type must be a non-empty string';
  if (NAMED.includes(type)) {
    const among = (namespace ?? null) === null ? names : inside.get(namespace);
    return among?.has(name) === true ? null : '.name must name one of the tools';
  }
  if (!families.has(familyOf(type))) return '.type must be one of the tools';
  return type !== 'namespace' || inside.has(name) ? null : '.name must name one of the namespaces';
}

/** Returns the kind of a tool, without its version and whether a provider or we run it. */
function familyOf(type: string): string {
  const plain = type.slice(type.indexOf(':') + 1);
  return plain.startsWith('web_search') ? 'web_search' : plain;
}

function offeredBy(tools: readonly Fields[]): Offered {
  const names = new Set<unknown>();
  const inside = new Map<unknown, Set<unknown>>();
  for (const { type, name, tools: inner } of tools) {
    if (type !== 'namespace') {
      names.add(name);
      continue;
    }
    const ofThis = inside.get(name) ?? new Set();
    inside.set(name, ofThis);
    for (const tool of listOf(inner)) {
      names.add(tool['name']);
      ofThis.add(tool['name']);
    }
  }
  return {
    names,
    inside,
    families: new Set(tools.flatMap(({ type }) => (typeof type === 'string' ? [familyOf(type)] : []))),
  };
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
}

const isCount = wholeNumber(1, MAX_COUNT);

const CONDITIONS: Readonly<Record<string, readonly [string, MemberCheck]>> = {
  step_count_is: ['step_count', isCount],
  has_tool_call: ['tool_name', text(1, 256)],
  max_tokens_used: ['max_tokens', isCount],
  max_cost: ['max_cost_in_dollars', isAmount],
  finish_reason_is: ['reason', text(1, 256)],
};

function isAmount(value: unknown): string | null {
  return typeof value === 'number' && value >= 0 && value <= MAX_COUNT ? null : ' must be an amount of at least 0';
}

/** Checks `stop_server_tools_when`: at least one condition, each of a known kind. */
export function findStopConditionsProblem(conditions: unknown): string | null {
  return findElementsProblem(conditions, 1, MAX_CONDITIONS, (condition) => {
    const type = isPlainObject(condition) ? condition['type'] : null;
    if (typeof type !== 'string' || !Object.hasOwn(CONDITIONS, type)) {
      return `.type must be one of ${Object.keys(CONDITIONS).join(', ')}`;
    }
    const [name, check] = CONDITIONS[type]!;
    const problem = check((condition as Fields)[name]);
    return problem === null ? null : `.${name}${problem}`;
  });
}

const PLUGINS = [
  'auto-router',
  'auto-beta-router',
  'moderation',
  'web',
  'web-fetch',
  'file-parser',
  'response-healing',
  'context-compression',
  'pareto-router',
  'fusion',
  'switchyard-router',
  'jev-router',
  'alignment',
];

/** Checks `plugins`: known ones, each at most once. */
export function findPluginsProblem(plugins: unknown): string | null {
  const seen = new Set<unknown>();
  return findElementsProblem(plugins, 0, PLUGINS.length, (plugin) => {
    const id = isPlainObject(plugin) ? plugin['id'] : null;
    if (typeof id !== 'string' || !PLUGINS.includes(id)) return '.id is no known plugin';
    if (seen.has(id)) return '.id is there twice';
    seen.add(id);
    return findMembersProblem(plugin, { enabled: isBoolean });
  });
}
