import { toolOfItem, type ProviderTool } from '../../model/provider-tools';
import { JsonCursor } from '../json-cursor';

/** Fields of an output item that decide whether it is charged. */
export interface ItemWords {
  type?: string | null;
  status?: string | null;
  /** The type of what it did. */
  action?: string | null;
}

/** Returns true for a web search that is charged: not for pages that it opens, and not if it failed. */
export function isWebSearch({ type, status, action }: ItemWords): boolean {
  return type === 'web_search_call' && status !== 'failed' && (action ?? 'search') === 'search';
}

/** Returns the tool that an output item is a call of; null for web searches, failed calls and other items. */
export function toolIn({ type, status }: ItemWords): ProviderTool | null {
  const tool = status === 'failed' ? null : toolOfItem(type ?? '');
  return tool === 'web_search' ? null : tool;
}

/** Returns these fields of an output item. Throws MalformedJson. */
export function readItemWords(bytes: Buffer): ItemWords {
  const cursor = new JsonCursor(bytes);
  const words: ItemWords = {};
  if (!cursor.isObject()) return words;
  cursor.readObject((key) => {
    if (key === 'type') words.type = cursor.readStringOrNull();
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
