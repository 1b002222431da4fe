type Fields = Readonly<Record<string, unknown>>;

/** A field of a body that a check refused, and the problem. */
export interface FoundMember {
  readonly path: string;
  readonly what: string;
}

/**
 * An object of a body. Its `type` determines the meaning of its fields only where types are read: in other places
 * callers may write any, and translations drop it.
 */
export interface Holder {
  readonly fields: Fields;
  /** Name of the field that has the object, or has the list with the object; empty for the body itself. */
  readonly place: string;
  /** The same name of the object around it; empty for a field of the body itself. */
  readonly within: string;
}

/**
 * Checks a field, or an element of a list under the name of the list. A returned problem ends the walk; after null the
 * walk continues inside the value.
 */
export type MemberJudge = (name: string, value: unknown, holder: Holder) => string | null;

/** Fields of a body that are sent to no provider, or that only identify the caller. `provider` has its own rules. */
const CALLERS_NOTES: ReadonlySet<string> = new Set([
  'provider',
  'metadata',
  // Codex writes the names of its session, window and thread into this field.
  'client_metadata',
  'trace',
  'plugins',
  'debug',
  'user',
  'safety_identifier',
  'session_id',
  'prompt_cache_key',
]);
/** Arguments, schemas and notes of the caller's own functions and formats: no provider opens a link in them. */
const CALLERS_OWN: ReadonlySet<string> = new Set(['input_schema', 'schema', 'arguments', 'metadata']);
/** Blocks in a list `content` whose `input` is the argument of a tool call. */
const CALLS: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);
/** What a model did in an earlier search. Nothing opens the page again. */
const SEARCH_STEPS: ReadonlySet<unknown> = new Set(['open_page', 'find_in_page']);
/** Tools in a list `tools` whose `parameters` are a schema. */
const FUNCTIONS: ReadonlySet<unknown> = new Set(['function', 'custom']);
/** Longest name in a path: callers choose names, and an error must stay short. */
const LONGEST_NAME = 64;

/**
 * Walks over the fields of a request body at any depth, except those that are only the caller's, and returns the first
 * problem that the check finds. The depth of a body was limited when it was parsed.
 */
export function findInBody(body: Fields, judge: MemberJudge): FoundMember | null {
  const holder = { fields: body, place: '', within: '' };
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
  return Array.isArray(value)
    ? findInList(name, value, holder, judge)
    : findInObject({ fields: value as Fields, place: name, within: holder.place }, judge);
}

function findInList(name: string, list: readonly unknown[], holder: Holder, judge: MemberJudge): FoundMember | null {
  for (let index = 0; index < list.length; index += 1) {
    const found = findIn(name, list[index], holder, judge);
    if (found !== null) return below(`[${index}]`, found);
  }
  return null;
}

function findInObject(holder: Holder, judge: MemberJudge): FoundMember | null {
  const { fields } = holder;
  for (const name in fields) {
    if (isCallersOwn(name, holder)) continue;
    const found = findIn(name, fields[name], holder, judge);
    if (found !== null) return below(`.${shown(name)}`, found);
  }
  return null;
}

/** Names that belong to the caller in certain places only: elsewhere a provider may follow a link in them. */
const OWN_IN_PLACES: ReadonlyMap<string, (holder: Holder) => boolean> = new Map([
  ['attributes', ({ place, within }) => place === 'results' && within === 'input'],
  ['current_url', ({ place, within }) => place === 'output' && within === 'input'],
  ['env', ({ place }) => place === 'action'],
  ['filters', ({ place }) => place === 'tools'],
  ['input', ({ fields, place }) => place === 'content' && CALLS.has(fields['type'])],
  ['input_examples', ({ place }) => place === 'tools'],
  ['output_schema', ({ place }) => place === 'tools'],
  ['parameters', isFunction],
  ['url', ({ fields, place, within }) => place === 'action' && within === 'input' && SEARCH_STEPS.has(fields['type'])],
  ['working_directory', ({ place }) => place === 'action'],
]);

function isCallersOwn(name: string, holder: Holder): boolean {
  return CALLERS_OWN.has(name) || OWN_IN_PLACES.get(name)?.(holder) === true;
}

function isFunction({ fields, place, within }: Holder): boolean {
  if (place === 'tools') return isDescribed(fields['type']);
  return place === 'function' ? within === 'tools' : place === 'functions' && within === '';
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
