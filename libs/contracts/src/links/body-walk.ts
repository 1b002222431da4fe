type Fields = Readonly<Record<string, unknown>>;

/** A member of a body that a judge refused, and the problem. */
export interface FoundMember {
  readonly path: string;
  readonly what: string;
}

/**
 * An object of a body. Its `type` says what its members mean only where types are read: elsewhere callers may write
 * any, and translations drop it.
 */
export interface Holder {
  readonly fields: Fields;
  /** The name of the member that the object is, or is in the list of; empty for the body itself. */
  readonly place: string;
}

/**
 * Judges a member, or an element of a list under the name of the list. What it says ends the walk; for null the walk
 * goes on inside of the value.
 */
export type MemberJudge = (name: string, value: unknown, holder: Holder) => string | null;

/** Members of a body that are sent to no provider, or only say who calls. `provider` has its own rules. */
const CALLERS_NOTES: ReadonlySet<string> = new Set([
  'provider',
  'metadata',
  // Codex names its own session, window and thread in it.
  'client_metadata',
  'trace',
  'plugins',
  'debug',
  'user',
  'safety_identifier',
  'session_id',
  'prompt_cache_key',
]);
/** What a caller's own functions are given and described by, schemas and notes: none of it means a place to a provider. */
const CALLERS_OWN: ReadonlySet<string> = new Set([
  'input_schema',
  'schema',
  'function',
  'functions',
  'arguments',
  'metadata',
  'attributes',
  'filters',
]);
/** Blocks in a list `content` whose `input` is what a tool was called with. */
const CALLS: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);
/** Tools in a list `tools` whose `parameters` are a schema. */
const FUNCTIONS: ReadonlySet<unknown> = new Set(['function', 'custom']);
/** Of a name in a path: callers choose names, and an error must stay short. */
const LONGEST_NAME = 64;

/**
 * Walks over the members of a request body at any depth, except those that are only the caller's, and returns the first
 * problem that the judge finds. The depth of a body is bounded where it is parsed.
 */
export function findInBody(body: Fields, judge: MemberJudge): FoundMember | null {
  const holder = { fields: body, place: '' };
  for (const name in body) {
    if (CALLERS_NOTES.has(name) || CALLERS_OWN.has(name)) continue;
    const found = findIn(name, body[name], holder, judge);
    if (found !== null) return below(shown(name), found);
  }
  return null;
}

function findIn(name: string, value: unknown, holder: Holder, judge: MemberJudge): FoundMember | null {
  const what = judge(name, value, holder);
  if (what !== null) return { path: '', what };
  if (typeof value !== 'object' || value === null) return null;
  return Array.isArray(value) ? findInList(name, value, holder, judge) : findInObject(name, value as Fields, judge);
}

function findInList(name: string, list: readonly unknown[], holder: Holder, judge: MemberJudge): FoundMember | null {
  for (let index = 0; index < list.length; index += 1) {
    const found = findIn(name, list[index], holder, judge);
    if (found !== null) return below(`[${index}]`, found);
  }
  return null;
}

function findInObject(place: string, fields: Fields, judge: MemberJudge): FoundMember | null {
  const holder = { fields, place };
  for (const name in fields) {
    if (isCallersOwn(name, holder)) continue;
    const found = findIn(name, fields[name], holder, judge);
    if (found !== null) return below(`.${shown(name)}`, found);
  }
  return null;
}

function isCallersOwn(name: string, { fields, place }: Holder): boolean {
  if (CALLERS_OWN.has(name)) return true;
  if (name === 'input') return place === 'content' && CALLS.has(fields['type']);
  return name === 'parameters' && place === 'tools' && isDescribed(fields['type']);
}

/** Tools under the name of a service and a colon are run by the gateway. */
function isDescribed(type: unknown): boolean {
  return FUNCTIONS.has(type) || (typeof type === 'string' && type.includes(':'));
}

function below(step: string, { path, what }: FoundMember): FoundMember {
  return { path: `${step}${path}`, what };
}

function shown(name: string): string {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME)}…`;
}
