import { elementsOf, isObject, parseJson, spliceMembers, type ScannedObject } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';
import type { LossLog } from '../../model/loss-report';
import type { ProviderAccount } from '../../model/provider-account';
import { bringsTools, SEARCH_PREVIEW, toolSentAs } from '../../model/provider-tools';
import { toolRate } from '../../pricing/price';
import { memberText, scanRequest } from '../request-members';

/**
 * Bytes that a tool type must contain if a provider may read it as a search: in three spellings, or as a JSON escape.
 */
const SEARCH_BYTES = ['search', 'SEARCH', 'Search', '\\u00'].map((text) => Buffer.from(text));
const SEARCHES: ReadonlySet<unknown> = new Set(['web_search', SEARCH_PREVIEW]);

/**
 * Returns a request without web search tools that the provider would run on the operator's account and for which the
 * endpoint has no price. Coding agents offer such tools in every request, whether or not they are needed. Requests that
 * require a search do not come here: they need an endpoint with a price.
 */
export function withoutUnsoldSearch(
  request: ScannedObject,
  { pricing }: Endpoint,
  { isOwn }: ProviderAccount,
  log?: LossLog,
): ScannedObject {
  if (isOwn || !SEARCH_BYTES.some((bytes) => request.bytes.includes(bytes))) return request;
  const isUnsold = (tool: unknown): boolean => {
    const type = isObject(tool) ? tool['type'] : undefined;
    const search = typeof type === 'string' ? toolSentAs(type) : null;
    return search !== null && SEARCHES.has(search) && toolRate(pricing, search) === undefined;
  };
  const tools = valueOf(request, 'tools');
  const left = without(tools, isUnsold);
  const input = valueOf(request, 'input');
  const leftInput = inputWithout(input, isUnsold);
  if (left === tools && input === leftInput) return request;
  log?.drop('tools.web_search');
  const isBare = elementsOf(left).length === 0;
  // Providers refuse a tool choice in a request without tools, but items of the input may still define some.
  const hasChoice = !isBare || elementsOf(leftInput).some(hasTools);
  const choice = valueOf(request, 'tool_choice');
  const set = changed([
    ['tools', tools, isBare ? tools : left],
    ['input', input, leftInput],
    ['tool_choice', choice, hasChoice ? choiceWithout(choice, isUnsold) : choice],
  ]);
  return scanRequest(spliceMembers(request, { set, remove: removedOf(isBare, hasChoice) }));
}

function removedOf(isBare: boolean, hasChoice: boolean): readonly string[] {
  return [...(isBare ? ['tools'] : []), ...(hasChoice ? [] : ['tool_choice'])];
}

function hasTools(item: unknown): boolean {
  return bringsTools(item) && elementsOf(item['tools']).length > 0;
}

/**
 * Returns the tool choice without searches. If only searches were allowed, it becomes `none`: providers refuse an empty
 * list.
 */
function choiceWithout(choice: unknown, isUnsold: (tool: unknown) => boolean): unknown {
  const left = toolsWithout(choice, isUnsold);
  return left !== choice && isObject(left) && elementsOf(left['tools']).length === 0 ? 'none' : left;
}

/** Returns the JSON texts of the values that changed. */
function changed(values: readonly (readonly [string, unknown, unknown])[]): Record<string, string> {
  const others = values.filter(([, before, after]) => before !== after);
  return Object.fromEntries(others.map(([name, , after]) => [name, JSON.stringify(after)]));
}

/** Returns undefined also for a value that contains no tool: most inputs are long and define none. */
function valueOf(request: ScannedObject, name: string): unknown {
  const text = memberText(request, name);
  return text !== undefined && (name !== 'input' || TOOLS_BYTES.some((bytes) => text.includes(bytes)))
    ? parseJson(text)
    : undefined;
}

const TOOLS_BYTES = ['"tools"', '\\u00'].map((text) => Buffer.from(text));

/**
 * Returns the input without such tools; the same value if no item contains one. An item that contains only such tools
 * is removed too.
 */
function inputWithout(input: unknown, isUnsold: (tool: unknown) => boolean): unknown {
  if (!Array.isArray(input)) return input;
  const items = input.map((item: unknown) => (bringsTools(item) ? toolsWithout(item, isUnsold) : item));
  if (items.every((item, at) => item === input[at])) return input;
  return items.filter((item, at) => item === input[at] || !isBareItem(item));
}

/** Returns whether an `additional_tools` item is empty. Other items, such as the result of a tool search, may be empty. */
function isBareItem(item: unknown): boolean {
  return isObject(item) && item['type'] === 'additional_tools' && elementsOf(item['tools']).length === 0;
}

/** Returns the object without such tools in its list; the same value if it has none. */
function toolsWithout(holder: unknown, isUnsold: (tool: unknown) => boolean): unknown {
  if (!isObject(holder)) return holder;
  const tools = without(holder['tools'], isUnsold);
  return tools === holder['tools'] ? holder : { ...holder, tools };
}

/** Returns the list without such tools; the same list if it has none. */
function without(tools: unknown, isUnsold: (tool: unknown) => boolean): unknown {
  return Array.isArray(tools) && tools.some(isUnsold) ? tools.filter((tool) => !isUnsold(tool)) : tools;
}
