import { shownType } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { APIS, bringsTools, toolOfType, type StreamableApi } from '@libs/inference';
import type { ServerTool } from './server-tool';

export type Fields = Readonly<Record<string, unknown>>;

/** An entry of a request's `tools` that names a tool of the gateway. */
export interface NamedTool {
  readonly tool: ServerTool;
  readonly parameters: Fields;
  /** Path of the settings in the request. */
  readonly path: string;
  /** The entry as in the request. */
  readonly entry: Fields;
}

/** A tool of a request and its path. */
export interface ListedTool {
  readonly path: string;
  readonly entry: Fields;
}

/** Returns the tools of `tools` and of the items of `input` that bring more. */
export function listedTools({ tools, input }: Fields): readonly ListedTool[] {
  const later = Array.isArray(input) ? input.flatMap((item, at) => laterTools(item, `input[${at}]`)) : [];
  return [...pathsOf(tools, 'tools'), ...later];
}

function laterTools(item: unknown, path: string): readonly ListedTool[] {
  return bringsTools(item) ? pathsOf(item['tools'], `${path}.tools`) : [];
}

function pathsOf(list: unknown, path: string): readonly ListedTool[] {
  return listOf(list).map((entry, at) => ({ path: `${path}[${at}]`, entry }));
}

/** The tools of a request, grouped by who runs them. */
export interface SortedTools {
  /** Gateway tools that are named with the service prefix. */
  readonly own: readonly NamedTool[];
  /** Gateway tools that are named without the prefix; a provider may have a tool with the same name. */
  readonly plain: readonly NamedTool[];
  /** Tools that only a provider can run, including those of unknown types. */
  readonly providers: readonly ListedTool[];
  /** The caller's own tools: all remaining ones. */
  readonly rest: readonly Fields[];
}

/** Finds the gateway's tools by the types with which callers name them. */
export class NamedTools {
  readonly #byType = new Map<string, ServerTool>();
  readonly #byAlias = new Map<string, ServerTool>();
  readonly #prefix: string;

  constructor(
    serviceName: string,
    private readonly tools: readonly ServerTool[],
  ) {
    this.#prefix = `${serviceName}:`;
    for (const tool of tools) {
      this.#byType.set(this.typeOf(tool), tool);
      for (const alias of tool.aliases ?? []) this.#byAlias.set(alias, tool);
    }
  }

  /** Returns the type of a tool in requests and in its output items. */
  typeOf({ name }: ServerTool): string {
    return this.#prefix + name;
  }

  /** Returns the tool with a type or alias, or null. */
  find(type: unknown): ServerTool | null {
    return typeof type === 'string' ? (this.#byType.get(type) ?? this.#byAlias.get(type) ?? null) : null;
  }

  /** Whether a type is under the service's own name. */
  isOwn(type: unknown): boolean {
    return typeof type === 'string' && type.startsWith(this.#prefix);
  }

  /**
   * Returns whether a tool of a provider may be left out where none runs it: a search, in an API in which the gateway's
   * search has no plain name.
   */
  isOptional(api: StreamableApi, { type }: Fields): boolean {
    if (APIS[api].tools.takesPlainNames || typeof type !== 'string') return false;
    const name = toolOfType(type);
    return this.tools.some((tool) => tool.name === name && tool.isOptional === true);
  }

  /** @throws AppError invalid_request for an unknown tool with the service prefix, or a tool that occurs twice */
  sort(api: StreamableApi, tools: readonly ListedTool[]): SortedTools {
    const sorted = {
      own: [] as NamedTool[],
      plain: [] as NamedTool[],
      providers: [] as ListedTool[],
      rest: [] as Fields[],
    };
    const rules = APIS[api].tools;
    for (const { entry, path } of tools) {
      const { type } = entry;
      if (this.isOwn(type)) sorted.own.push(this.#own(entry, path));
      else if (rules.takesPlainNames && this.find(type) !== null) sorted.plain.push(this.#plain(entry, path));
      else if (!rules.callerTypes.has(type)) sorted.providers.push({ entry, path });
      else sorted.rest.push(entry);
    }
    return sorted;
  }

  #own(entry: Fields, path: string): NamedTool {
    const { type, parameters } = entry;
    const tool = this.#byType.get(String(type));
    if (tool !== undefined) return { tool, parameters: fieldsOf(parameters), path: `${path}.parameters`, entry };
    const offered = this.tools.map((one) => this.typeOf(one)).join(', ');
    throw refusal(`${path}.type`, `names a server tool that is not offered here; there are ${offered}`);
  }

  /** Settings are next to the type, or in `parameters` as with the service prefix. */
  #plain(entry: Fields, path: string): NamedTool {
    const { type, parameters, filters, ...settings } = entry;
    const { blocked_domains: blocked, ...domains } = fieldsOf(filters);
    const given = {
      ...settings,
      ...domains,
      ...(blocked !== undefined && domains['excluded_domains'] == null && { excluded_domains: blocked }),
      ...fieldsOf(parameters),
    };
    const present = Object.entries(given).filter(([, value]) => value !== null);
    return { tool: this.#byAlias.get(String(type))!, parameters: Object.fromEntries(present), path, entry };
  }
}

/** Returns an error about one field of a request. */
export function refusal(param: string, reason: string): AppError {
  return new AppError('invalid_request', `${param} ${reason}`, { metadata: { param } });
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Returns the objects of an array; empty for any other value. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** Returns a name that none of the caller's functions has. */
export function freeName(wanted: string, serviceName: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 1; taken.has(name); count += 1) {
    name = count === 1 ? `${serviceName}_${wanted}` : `${serviceName}_${wanted}_${count}`;
  }
  taken.add(name);
  return name;
}

/** Returns the error for a tool that is not run, with its type. `reason` goes on after "a tool that". */
export function refusedTool({ entry, path }: ListedTool, reason: string): AppError {
  const type = shownType(entry['type']);
  return refusal(`${path}.type`, `is ${type === null ? '' : `${type}, `}a tool that ${reason}`);
}

/** Returns the settings of a tool choice that allows some of the tools; on chat they are in a member of its own. */
export function allowedIn(choice: unknown): Fields | null {
  const fields = fieldsOf(choice);
  if (fields['type'] !== 'allowed_tools') return null;
  return 'allowed_tools' in fields ? fieldsOf(fields['allowed_tools']) : fields;
}
