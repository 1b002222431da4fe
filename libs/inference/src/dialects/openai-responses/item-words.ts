import { JsonCursor, objectOf, stringOf, type JsonObject } from '@libs/json';
import { toolOfItem } from '../../model/provider-tools';
import { ToolCounter, type ProviderTool } from '../../pricing/tool-uses';
import type { BilledUnits } from '../../pricing/price';

/** Fields of an output item that decide whether it is charged. */
export interface ItemWords {
  type?: string | null;
  status?: string | null;
  /** The type of what it did. */
  action?: string | null;
  /** Name of the tool that the item calls. */
  name?: string | null;
}

/** Names under which xAI reports its searches of the network X, in items of custom tools. */
const SEARCHES_OF_X: ReadonlySet<string> = new Set([
  'x_keyword_search',
  'x_semantic_search',
  'x_thread_fetch',
  'x_user_search',
]);
export const X_SEARCH: ProviderTool = 'x_search';

/** Returns true for a web search that is charged. Opening a page and a failed search are not charged. */
export function isWebSearch({ type, status, action }: ItemWords): boolean {
  return type === 'web_search_call' && status !== 'failed' && (action ?? 'search') === 'search';
}

/**
 * Returns the tool that an output item calls; null for web searches, failed calls and other items. A caller's custom
 * tool may have the name of an X search; the units of an answer leave such calls out.
 */
export function toolIn({ type, status, name }: ItemWords): ProviderTool | null {
  if (status === 'failed') return null;
  if (type === 'custom_tool_call') return SEARCHES_OF_X.has(name ?? '') ? X_SEARCH : null;
  const tool = toolOfItem(type ?? '');
  return tool === 'web_search' ? null : tool;
}

/** Returns true for a call of a provider's tool that is not charged: a page that a search opened, or a failed call. */
export function isUncharged(words: ItemWords): boolean {
  return toolOfItem(words.type ?? '') !== null && !isWebSearch(words) && toolIn(words) === null;
}

/** Returns the units of the output items of a parsed response that are charged in addition to tokens. */
export function unitsOfItems(items: readonly JsonObject[]): BilledUnits {
  const counter = new ToolCounter();
  let webSearches = 0;
  let otherTurns = 0;
  for (const item of items) {
    const action = stringOf(objectOf(item['action'])['type']) ?? null;
    const words = { type: stringOf(item['type']) ?? null, status: stringOf(item['status']) ?? null, action };
    const tool = toolIn(words);
    if (tool !== null) counter.add(tool);
    webSearches += Number(isWebSearch(words));
    otherTurns += Number(isUncharged(words));
  }
  const tools = counter.uses;
  return {
    ...(webSearches > 0 && { webSearches }),
    ...(tools !== undefined && { tools }),
    ...(otherTurns > 0 && { otherTurns }),
  };
}

/** Reads the fields of `ItemWords` from an output item. Throws MalformedJson. */
export function readItemWords(bytes: Buffer): ItemWords {
  const cursor = new JsonCursor(bytes);
  const words: ItemWords = {};
  if (!cursor.isObject()) return words;
  cursor.readObject((key) => {
    if (key === 'type') words.type = cursor.readStringOrNull();
    else if (key === 'name') words.name = cursor.readStringOrNull();
    else if (key === 'status') words.status = cursor.readStringOrNull();
    else if (key === 'action' && cursor.isObject()) {
      cursor.readObject((inner) => {
        if (inner === 'type') words.action = cursor.readStringOrNull();
        else cursor.skipValue();
      });
    } else cursor.skipValue();
  });
  return words;
}
