import type { WorkspaceSettings } from '@libs/contracts';
import {
  bringsTools,
  APIS,
  needOfTool,
  toolRate,
  toolsBesideList,
  toolsSentIn,
  type CanonicalRequest,
  type Endpoint,
  type EndpointNeed,
  type StreamableApi,
  type ToolDefinition,
  type ToolChoice,
} from '@libs/inference';
import {
  allowedIn,
  fieldsOf,
  listedTools,
  listOf,
  NamedTools,
  refusal,
  refusedTool,
  type Fields,
  type NamedTool,
  type SortedTools,
  freeName,
} from './named-tools';
import { isAnyEngine, leftOutOf, withoutTools } from './left-out-tools';
import type { BoundTool, ServerTool } from './server-tool';
import { readStopConditions, type StopCondition } from './stop-conditions';

/** A tool of the gateway with the settings of one request. */
export interface PlannedTool {
  readonly name: string;
  /** Type of the tool in requests and in its output items. */
  readonly itemType: string;
  readonly bound: BoundTool;
}

/** A request that is answered in turns. */
export interface ServerToolPlan {
  /** The request with functions in place of the gateway's tools. */
  readonly conversation: CanonicalRequest;
  /** Tools by the name of the function that the model calls. */
  readonly tools: ReadonlyMap<string, PlannedTool>;
  readonly stopWhen: readonly StopCondition[];
}

export interface PlannerParts {
  readonly serviceName: string;
  readonly tools: readonly ServerTool[];
  /** Returns how many of the endpoints that the request allows for these models have the API natively. */
  readonly nativeShare: (
    models: readonly string[],
    api: StreamableApi,
    isMeant?: (endpoint: Endpoint) => boolean,
  ) => NativeShare;
  /** Returns whether the endpoint speaks the API itself, and so may run the tools of its provider. */
  readonly isNative: (endpoint: Endpoint, api: StreamableApi) => boolean;
}

export type NativeShare = 'none' | 'some' | 'all';

/** Name in a request's `deferred_tools` that asks for a search without listing the tool. */
const TOOL_SEARCH = 'tool_search';

/**
 * Decides which requests are answered in turns, and with which tools.
 *
 * A tool with a plain name, e.g. `web_search`, is left to the provider in two cases: all endpoints of the models have
 * the Responses API and a price for the tool, or some have the API and the gateway cannot search. The exception is a
 * request that also names tools of the gateway, or a search engine. A tool that only providers run is refused if none
 * can. On chat completions the gateway always searches itself.
 */
export class ServerToolPlanner {
  readonly #names: NamedTools;

  constructor(private readonly parts: PlannerParts) {
    this.#names = new NamedTools(parts.serviceName, parts.tools);
  }

  /**
   * Returns null for a request that an endpoint answers by itself. `body` is validated, `models` are its models.
   * @throws AppError invalid_request with the name of the field
   */
  plan(
    api: StreamableApi,
    body: Fields,
    models: readonly string[],
    settings?: WorkspaceSettings,
  ): ServerToolPlan | null {
    if (!mayConcernUs(api, body)) return null;
    const sorted = this.#names.sort(api, listedTools(body));
    const deferred = deferredNames(sorted.rest);
    const search = searchSettings(body['deferred_tools']);
    const mayLeave = APIS[api].tools.leavesPlainNames;
    const share = (isMeant?: (endpoint: Endpoint) => boolean): NativeShare =>
      this.parts.nativeShare(models, api, isMeant);
    const found = once(this.#named(api, sorted, deferred.size > 0 ? search : null, share));
    const leftOut = leftOutOf(found, sorted, (type) => this.#names.find(type), body['tool_choice']);
    const named = found.filter((one) => !leftOut.includes(one));
    // True if endpoints with the API would receive the tool unchanged: the request is then always read and written
    // without it.
    const mustLeave = leftOut.length > 0 && !mayLeave;
    if (named.length === 0 && !mustLeave && !this.#hasOwnItems(body['input'])) return null;
    if (typeof body['n'] === 'number' && body['n'] > 1) throw refusal('n', 'must be 1 where server tools are used');
    const choice = this.#readChoice(body['tool_choice'], named);
    const request = APIS[api].caller.readRequest({
      ...body,
      input: withoutTools(body['input']),
      tools: [...sorted.rest, ...[...leftOut, ...sorted.providers].map(({ entry }) => entry)],
      tool_choice: choice.rest,
    });
    const surroundings = { deferred, imageModel: settings?.default_image_model };
    return this.#bind(request, choice, surroundings, readStopConditions(body));
  }

  /**
   * Returns what an endpoint must support for a request that it answers by itself: a translation would lose a
   * provider's tool. Returns none if every endpoint would lose it. `body` is validated.
   */
  needsOf(api: StreamableApi, body: Fields, models: readonly string[]): readonly EndpointNeed[] {
    if (!mayConcernUs(api, body)) return [];
    const sorted = this.#names.sort(api, listedTools(body));
    const { providers } = sorted;
    const omitted = this.#omittedOf(sorted, body, this.parts.nativeShare(models, api, sellsSearch));
    const plain = sorted.plain.filter((one) => !omitted.includes(one));
    const asked = toolsSentIn(body, (type) => this.#names.isOwn(type)).filter(
      ({ member, dearerMember }) => dearerMember !== undefined || omitted.every(({ path }) => path !== member),
    );
    if (asked.length + plain.length + providers.length === 0 || this.parts.nativeShare(models, api) === 'none') {
      return [];
    }
    const message = 'No provider of the model that may serve runs the tools of the request';
    const isNative = (endpoint: Endpoint): boolean => this.parts.isNative(endpoint, api);
    return [{ member: 'tools', message, isMetBy: isNative }, ...asked.map((one) => needOfTool(api, one))];
  }

  /** Returns the optional tools that have no price at any endpoint. They are left out for every endpoint. */
  #omittedOf(sorted: SortedTools, body: Fields, share: NativeShare): readonly NamedTool[] {
    if (share !== 'none' || sorted.plain.length === 0) return [];
    return leftOutOf(sorted.plain, sorted, (type) => this.#names.find(type), body['tool_choice']);
  }

  /** The tools that we run. */
  #named(
    api: StreamableApi,
    sorted: SortedTools,
    search: Fields | null,
    nativeShare: (isMeant?: (endpoint: Endpoint) => boolean) => NativeShare,
  ): readonly NamedTool[] {
    const { own, plain, providers } = sorted;
    const searchTool = search === null ? null : this.#searchTool(own, search);
    const mine = searchTool === null ? own : [...own.filter(({ tool }) => tool !== searchTool.tool), searchTool];
    if (providers.length + plain.length === 0) return mine;
    const isNative = nativeShare() !== 'none';
    const isLeft = (): boolean =>
      APIS[api].tools.leavesPlainNames
        ? providers.length > 0 || areLeftToProvider(plain, nativeShare(sellsSearch))
        : plain.length === 0;
    if (isNative && mine.length === 0 && isLeft()) return [];
    const unrun = providers.find(({ entry }) => !this.#names.isOptional(api, entry));
    if (unrun === undefined) return [...mine, ...plain];
    throw refusedTool(unrun, isNative ? 'cannot be used beside server tools' : 'no provider of the model runs');
  }

  /** Returns the search that `deferred_tools` asks for. The settings of the tool's own entry have precedence. */
  #searchTool(own: readonly NamedTool[], search: Fields): NamedTool | null {
    const tool = this.parts.tools.find(({ name }) => name === TOOL_SEARCH);
    if (tool === undefined) return null;
    const entry = own.find((one) => one.tool === tool);
    const path = entry?.path ?? 'deferred_tools.search';
    return { tool, path, parameters: { ...search, ...entry?.parameters }, entry: entry?.entry ?? {} };
  }

  #hasOwnItems(input: unknown): boolean {
    return Array.isArray(input) && listOf(input).some(({ type }) => this.#names.isOwn(type));
  }

  #readChoice(choice: unknown, named: readonly NamedTool[]): ReadChoice {
    const settings = allowedIn(choice);
    if (settings !== null) {
      const listed = listOf(settings['tools']);
      const allowed = new Set(listed.map((entry) => this.#names.find(entry['type'])));
      const left = { ...settings, tools: listed.filter((entry) => this.#names.find(entry['type']) === null) };
      const rest = 'type' in left ? left : { type: 'allowed_tools', allowed_tools: left };
      return { rest, named: named.filter(({ tool }) => allowed.has(tool)), forced: null };
    }
    const forced = named.find(({ tool }) => tool === this.#names.find(fieldsOf(choice)['type'])) ?? null;
    return { rest: forced === null ? choice : undefined, named, forced };
  }

  #bind(
    request: CanonicalRequest,
    { named, forced }: ReadChoice,
    { deferred: deferredNamed, imageModel }: Surroundings,
    stopWhen: readonly StopCondition[],
  ): ServerToolPlan {
    const isSearched = named.some(({ tool }) => tool.name === TOOL_SEARCH);
    const hidden = isSearched ? unknownOf(deferredNamed, request) : new Set<string>();
    const deferred = request.tools.filter(({ name }) => hidden.has(name));
    const taken = new Set(request.tools.map(({ name }) => name));
    const tools = new Map<string, PlannedTool>();
    const definitions: ToolDefinition[] = [];
    let toolChoice: ToolChoice | undefined = request.toolChoice;
    for (const { tool, parameters, path } of named) {
      const bound = tool.bind(parameters, path, { deferred, imageModel });
      const name = freeName(bound.definition.name, this.parts.serviceName, taken);
      tools.set(name, { name: tool.name, itemType: this.#names.typeOf(tool), bound });
      definitions.push({ ...bound.definition, name });
      if (forced?.tool === tool) toolChoice = { type: 'tool', name };
    }
    const seen = request.tools.filter(({ name }) => !hidden.has(name));
    return {
      conversation: { ...request, tools: [...seen, ...definitions], ...(toolChoice && { toolChoice }) },
      tools,
      stopWhen,
    };
  }
}

/** What a request and its caller say about tools, besides the list of tools. */
interface Surroundings {
  /** Names of the caller's functions that the model does not see until it finds them. */
  readonly deferred: ReadonlySet<string>;
  readonly imageModel: string | undefined;
}

interface ReadChoice {
  /** The rest of the body, which the dialect reads. */
  readonly rest: unknown;
  /** Our tools that may be used. */
  readonly named: readonly NamedTool[];
  /** The one of them that must be. */
  readonly forced: NamedTool | null;
}

/** Fast check: most requests have only functions, or no tools at all. */
function mayConcernUs(api: StreamableApi, body: Fields): boolean {
  const { tools, input, deferred_tools: deferral } = body;
  const { callerTypes } = APIS[api].tools;
  if (Array.isArray(tools) && tools.some((tool) => !callerTypes.has((tool as Fields)['type']))) return true;
  if (toolsBesideList(body).length > 0) return true;
  return (deferral !== undefined && deferral !== null) || listOf(input).some(isOfTools);
}

/** Returns whether an item is the result of a gateway tool, or defines more tools. */
function isOfTools(item: unknown): boolean {
  const { type } = item as Fields;
  return (typeof type === 'string' && type.includes(':')) || bringsTools(item);
}

function sellsSearch({ pricing }: Endpoint): boolean {
  return toolRate(pricing, 'web_search') !== undefined;
}

/** Refuses a tool that is given twice, because it can be set up in one way only. */
function once(named: readonly NamedTool[]): readonly NamedTool[] {
  const twice = named.find(({ tool }, index) => named.findIndex((other) => other.tool === tool) < index);
  if (twice !== undefined) throw refusal(twice.path, 'names a server tool that is there twice');
  return named;
}

function areLeftToProvider(plain: readonly NamedTool[], share: NativeShare): boolean {
  return plain.every((tool) => isLeftToProvider(tool, share));
}

/** Returns whether the provider's tool is used: by engine `native`, or without one if all have it or we have none. */
function isLeftToProvider({ tool, parameters: { engine } }: NamedTool, share: NativeShare): boolean {
  if (engine === 'native') return true;
  return isAnyEngine(engine) && (share === 'all' || tool.isReady === false);
}

function deferredNames(tools: readonly Fields[]): ReadonlySet<string> {
  const deferred = tools.filter((tool) => tool['defer_loading'] === true);
  return new Set(deferred.map((tool) => String(tool['name'] ?? fieldsOf(tool['function'])['name'])));
}

/** Returns the search settings in `deferred_tools`; null if there are none. */
function searchSettings(deferral: unknown): Fields | null {
  const { search } = fieldsOf(deferral);
  if (search === undefined) return null;
  if (fieldsOf(search)['type'] === 'custom') {
    throw refusal('deferred_tools.search.type', 'must be bm25 or regex: a search of your own is not offered');
  }
  return fieldsOf(search);
}

/**
 * Returns the names that the model does not know yet: neither used in the conversation nor in the forced tool choice.
 */
function unknownOf(names: ReadonlySet<string>, { messages, toolChoice }: CanonicalRequest): ReadonlySet<string> {
  const parts = messages.flatMap((message) => message.parts);
  const known = new Set(parts.flatMap((part) => (part.type === 'tool-call' ? [part.name] : [])));
  if (toolChoice?.type === 'tool') known.add(toolChoice.name);
  return new Set([...names].filter((name) => !known.has(name)));
}
