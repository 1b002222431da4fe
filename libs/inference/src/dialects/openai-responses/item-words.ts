import { toolOfItem, type ProviderTool } from '../../model/provider-tools';
import { JsonCursor } from '../json-cursor';

/** Words of one output item that say whether it has a price of its own. */
export interface ItemWords {
  type?: string | null;
  status?: string | null;
  /** The type of what it did. */
  action?: string | null;
}

/** Of what a search tool does, providers charge searches and not pages that it opens; one that failed costs nothing. */
export function isWebSearch({ type, status, action }: ItemWords): boolean {
  return type === 'web_search_call' && status !== 'failed' && (action ?? 'search') === 'search';
}

/** Returns the tool that an item tells of, other than a search of the web; null for one that failed, or no tool. */
export function toolIn({ type, status }: ItemWords): ProviderTool | null {
  const tool = status === 'failed' ? null : toolOfItem(type ?? '');
  return tool === 'web_search' ? null : tool;
}

/** Reads the words of one output item. Throws MalformedJson. */
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
