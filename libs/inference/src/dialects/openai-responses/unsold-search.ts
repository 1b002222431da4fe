import { elementsOf, isObject, parseJson, spliceMembers, type ScannedObject } from '@libs/json';
import type { Endpoint } from '../../catalogue/catalogue';
import type { LossLog } from '../../model/loss-report';
import type { ProviderAccount } from '../../model/provider-account';
import { bringsTools, SEARCH_PREVIEW, toolSentAs } from '../../model/provider-tools';
import { toolRate } from '../../pricing/price';
import { memberText, scanRequest } from '../request-members';

/** In every spelling of a type that a provider may take for a search, but for escapes and capital letters. */
const SEARCH_BYTES = ['search', 'SEARCH', 'Search', '\\u00'].map((text) => Buffer.from(text));
const SEARCHES: ReadonlySet<unknown> = new Set(['web_search', SEARCH_PREVIEW]);

/**
 * Returns a request without the searches that agents offer whether or not they are needed, where the provider would run
 * them on the operator's account and the endpoint has no price for them. A request that cannot do without them does not
 * come here: it needs an endpoint with a price.
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
  // Providers refuse a choice among no tools, but items of the input may have brought some.
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

/** Where only searches were allowed, no tool is: providers refuse a list without any. */
function choiceWithout(choice: unknown, isUnsold: (tool: unknown) => boolean): unknown {
  const left = toolsWithout(choice, isUnsold);
  return left !== choice && isObject(left) && elementsOf(left['tools']).length === 0 ? 'none' : left;
}

/** The JSON texts of those values that are others now. */
function changed(values: readonly (readonly [string, unknown, unknown])[]): Record<string, string> {
  const others = values.filter(([, before, after]) => before !== after);
  return Object.fromEntries(others.map(([name, , after]) => [name, JSON.stringify(after)]));
}

/** Undefined also for a value in which no tool can be: most inputs are long and bring none. */
function valueOf(request: ScannedObject, name: string): unknown {
  const text = memberText(request, name);
  return text !== undefined && (name !== 'input' || TOOLS_BYTES.some((bytes) => text.includes(bytes)))
    ? parseJson(text)
    : undefined;
}

const TOOLS_BYTES = ['"tools"', '\\u00'].map((text) => Buffer.from(text));

/** The same input where no item brings such a tool. An item that brings nothing else goes too. */
function inputWithout(input: unknown, isUnsold: (tool: unknown) => boolean): unknown {
  if (!Array.isArray(input)) return input;
  const items = input.map((item: unknown) => (bringsTools(item) ? toolsWithout(item, isUnsold) : item));
  if (items.every((item, at) => item === input[at])) return input;
  return items.filter((item, at) => item === input[at] || !isBareItem(item));
}

/** What a search for tools found may be nothing. */
function isBareItem(item: unknown): boolean {
  return isObject(item) && item['type'] === 'additional_tools' && elementsOf(item['tools']).length === 0;
}

/** The same value where it has no list with such a tool. */
function toolsWithout(holder: unknown, isUnsold: (tool: unknown) => boolean): unknown {
  if (!isObject(holder)) return holder;
  const tools = without(holder['tools'], isUnsold);
  return tools === holder['tools'] ? holder : { ...holder, tools };
}

/** The same list where none is in it. */
function without(tools: unknown, isUnsold: (tool: unknown) => boolean): unknown {
  return Array.isArray(tools) && tools.some(isUnsold) ? tools.filter((tool) => !isUnsold(tool)) : tools;
}
