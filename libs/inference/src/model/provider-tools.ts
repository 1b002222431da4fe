import { elementsOf, isObject, objectOf, objectsOf, type JsonObject } from '@libs/json';
import type { ProviderTool } from '../pricing/tool-uses';
import { dearerSetting } from './tool-settings';

/** Types of `tools` that the caller runs, or that the model handles by itself. */
const RUN_BY_CALLER: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'namespace',
  'local_shell',
  'apply_patch',
  'bash',
  'text_editor',
  'memory',
  'tool_search',
  'tool_search_tool_bm25',
  'tool_search_tool_regex',
]);

/** Other names of tools. */
const NAMES: Readonly<Record<string, ProviderTool>> = {
  code_execution: 'code_interpreter',
  bash_code_execution: 'code_interpreter',
  text_editor_code_execution: 'code_interpreter',
  computer: 'computer_use',
  computer_use_preview: 'computer_use',
  mcp_toolset: 'mcp',
};

/** OpenAI's previous web search, with a price of its own. Its output items look like those of `web_search`. */
export const SEARCH_PREVIEW: ProviderTool = 'web_search_preview';

/** The date of a version, such as `_20250305` or `_2025_08_26`. */
const VERSION = /_20\d{2}_?\d{2}_?\d{2}$/;
const ITEM = /^(.+)_call$/;

/**
 * Returns the provider tool that a type of `tools` asks for, in any spelling. Null for a type that no provider runs,
 * such as one with a service name and a colon before it.
 */
export function toolOfType(type: string): ProviderTool | null {
  return type.includes(':') ? null : toolSentAs(type);
}

/**
 * Returns the tool that a provider may run if this type of `tools` is sent to it; null for a type that no provider
 * runs. The provider may itself be a service whose tools have its name and a colon.
 */
export function toolSentAs(type: string): ProviderTool | null {
  const plain = type.trim().toLowerCase().replaceAll('-', '_').replace(VERSION, '');
  return RUN_BY_CALLER.has(type.replace(VERSION, '')) ? null : named(plain);
}

/** Returns the provider tool that output items of this type are calls of; null for other items. */
export function toolOfItem(type: string): ProviderTool | null {
  const tool = ITEM.exec(type)?.[1];
  return tool === undefined ? null : toolOfType(tool === 'custom_tool' ? 'custom' : tool);
}

/** Returns the provider tools that a request of any API asks for, without repetition. */
export function providerToolsIn(body: unknown): readonly ProviderTool[] {
  const found = new Set<ProviderTool>();
  for (const type of typesIn(objectOf(body))) {
    const tool = toolOfType(type);
    if (tool !== null) found.add(tool);
  }
  for (const { tool } of toolsBesideList(objectOf(body))) found.add(tool);
  return found.size === 0 ? NONE : [...found];
}

/** A provider tool that a request asks for. */
export interface AskedTool {
  readonly tool: ProviderTool;
  /** The field of the request that asks for it. */
  readonly member: string;
  /** A setting for which the provider charges more than the price of one use; absent if there is none. */
  readonly dearerMember?: string;
}

/** Returns the tools that a request asks for outside its lists of tools. */
export function toolsBesideList({
  mcp_servers: servers,
  web_search_options: search,
}: JsonObject): readonly AskedTool[] {
  const found: AskedTool[] = [];
  if (isFilled(servers)) found.push({ tool: 'mcp', member: 'mcp_servers' });
  if (search !== undefined && search !== null) found.push({ tool: 'web_search', member: 'web_search_options' });
  return found;
}

function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/**
 * Returns the tools that a provider would run for a request that is sent to it unchanged.
 *
 * @param isOurs whether a type names a tool that the gateway runs
 */
export function toolsSentIn(body: JsonObject, isOurs: (type: string) => boolean): readonly AskedTool[] {
  const { tools, input } = body;
  const lists: (readonly [string, unknown])[] = [['tools', tools]];
  if (Array.isArray(input)) {
    for (const [at, item] of input.entries()) if (bringsTools(item)) lists.push([`input[${at}].tools`, item['tools']]);
  }
  const listed = lists.flatMap(([path, list]) =>
    elementsOf(list).flatMap((entry, at) => {
      const { type } = entry;
      const tool = typeof type === 'string' && !isOurs(type) ? toolSentAs(type) : null;
      return tool === null ? [] : [askedTool(tool, entry, `${path}[${at}]`)];
    }),
  );
  return [...listed, ...toolsBesideList(body)];
}

function askedTool(tool: ProviderTool, entry: JsonObject, member: string): AskedTool {
  const dearer = dearerSetting(tool, entry);
  return dearer === null ? { tool, member } : { tool, member, dearerMember: `${member}.${dearer}` };
}

const NONE: readonly ProviderTool[] = [];

/** Types of items in a Responses `input` that define more tools: sent by the caller, or found by a tool search. */
export const MORE_TOOLS: readonly string[] = ['additional_tools', 'tool_search_output'];

/** Returns whether an element of `input` defines more tools. */
export function bringsTools(item: unknown): item is JsonObject {
  return isObject(item) && MORE_TOOLS.includes(item['type'] as string);
}

/** Returns all tools of a request of any API, in `tools` and in `input`. */
export function toolEntriesIn({ tools, input }: JsonObject): readonly JsonObject[] {
  const later = Array.isArray(input) ? input.filter(bringsTools) : NO_ITEMS;
  return [tools, ...later.map((item) => item['tools'])].flatMap(objectsOf);
}

/** Returns the types of all tools of a request, in `tools` and in `input`. */
function typesIn(request: JsonObject): readonly string[] {
  return toolEntriesIn(request).flatMap(({ type }) => (typeof type === 'string' ? type : NONE));
}

const NO_ITEMS: readonly JsonObject[] = [];

/** Tools whose files providers store for days, even if they may not store prompts. */
const KEEPING: ReadonlySet<ProviderTool> = new Set(['code_interpreter', 'file_search', 'shell']);

/** Returns whether a provider stores data of a request because of this tool. */
export function keepsFiles(tool: ProviderTool): boolean {
  return KEEPING.has(tool);
}

/** The gateway's plugins that do the same as a tool. */
const TOOLS_OF_PLUGINS: ReadonlyMap<unknown, ProviderTool> = new Map([
  ['web', 'web_search'],
  ['web-fetch', 'web_fetch'],
]);
const ONLINE = ':online';

/**
 * Returns the tools that a provider or the gateway would run for a request, by the names that policies use, without
 * repetition.
 */
export function toolsIn(body: unknown): readonly ProviderTool[] {
  const request = objectOf(body);
  const asked = providerToolsIn(request).map((tool) => (tool === SEARCH_PREVIEW ? 'web_search' : tool));
  const found = [...asked, ...gatewayTools(request), ...pluginTools(request)];
  if (isOnline(request)) found.push('web_search');
  return found.length === 0 ? NONE : [...new Set(found)];
}

function gatewayTools(request: JsonObject): readonly ProviderTool[] {
  const types = typesIn(request);
  return types.filter((type) => type.includes(':')).map((type) => type.slice(type.indexOf(':') + 1));
}

function pluginTools({ plugins }: JsonObject): readonly ProviderTool[] {
  const used = objectsOf(plugins).filter(({ enabled }) => enabled !== false);
  return used.flatMap(({ id }) => TOOLS_OF_PLUGINS.get(id) ?? []);
}

function isOnline({ model, models }: JsonObject): boolean {
  const named: readonly unknown[] = [model, ...(Array.isArray(models) ? (models as unknown[]) : [])];
  return named.some((name) => typeof name === 'string' && name.endsWith(ONLINE));
}

function named(plain: string): ProviderTool {
  return Object.hasOwn(NAMES, plain) ? NAMES[plain]! : plain;
}
