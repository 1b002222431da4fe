import { findMember } from '@libs/json';
import { ToolCounter, type ProviderTool } from '../../pricing/tool-uses';
import type { ToolUnits } from '../reported-tools';
import { isUncharged, isWebSearch, readItemWords, toolIn, type ItemWords } from './item-words';
import type { StreamEvent } from './relayed-event';

/** Suffix of the `type` of output items that are tool calls. */
const CALL = Buffer.from('_call"');
const COMPACTION = Buffer.from('compaction"');
const COMPACTIONS: ReadonlySet<unknown> = new Set(['compaction', 'context_compaction']);
const WEB_SEARCH = 'web_search';

/**
 * Counts the tools that a provider runs in one streamed response, by its output items. Counts items that are done and
 * items that have shown a picture; if the caller has disconnected, also items that have begun.
 */
export class ToolItems {
  #webSearches = 0;
  #otherTurns = 0;
  readonly #tools = new ToolCounter();
  /** Tools that have begun, by index of the item. */
  readonly #begun = new Map<string, ProviderTool>();
  readonly #counted = new Set<string>();

  get units(): ToolUnits {
    const [webSearches, otherTurns, tools] = [this.#webSearches, this.#otherTurns, this.#tools.uses];
    return {
      ...(webSearches > 0 && { webSearches }),
      ...(tools !== undefined && { tools }),
      ...(otherTurns > 0 && { otherTurns }),
    };
  }

  /** Returns whether the event contains a tool use that is charged. */
  note(event: StreamEvent): boolean {
    switch (event.type) {
      case 'response.output_item.added':
        this.#begin(event);
        return false;
      case 'response.image_generation_call.partial_image':
        return this.#use(indexOf(event), 'image_generation');
      case 'response.output_item.done':
        return this.#end(event);
      default:
        return false;
    }
  }

  /** Counts the items that have begun and not ended. Returns whether there were any. */
  endAll(): boolean {
    const begun = [...this.#begun];
    return begun.filter(([index, tool]) => this.#use(index, tool)).length > 0;
  }

  #begin(event: StreamEvent): void {
    const tool = toolOf(wordsOf(event));
    if (tool !== null) this.#begun.set(indexOf(event), tool);
  }

  #end(event: StreamEvent): boolean {
    const index = indexOf(event);
    const words = wordsOf(event);
    const tool = toolOf(words);
    if (words !== null && isUncharged(words)) this.#otherTurns += 1;
    this.#begun.delete(index);
    const isNew = tool !== null && this.#use(index, tool);
    // Without item numbers, each event counts as a separate use.
    this.#counted.delete(index);
    return isNew;
  }

  #use(index: string, tool: ProviderTool): boolean {
    this.#begun.delete(index);
    if (this.#counted.has(index)) return false;
    this.#counted.add(index);
    if (tool === WEB_SEARCH) this.#webSearches += 1;
    else this.#tools.add(tool);
    return true;
  }
}

/** Returns whether an event may be about a tool that the provider runs, by its text. */
export function showsTools(data: string): boolean {
  return data.includes('_call"') || data.includes('_call.partial_image"');
}

/** Returns whether an event ends a compaction item: the provider has replaced the context by a summary. */
export function endsCompaction({ type, bytes, item }: StreamEvent): boolean {
  if (item === null || type !== 'response.output_item.done') return false;
  const text = bytes.subarray(item.valueStart, item.valueEnd);
  return text.includes(COMPACTION) && COMPACTIONS.has(readItemWords(text).type);
}

/** Returns the fields of an item that is a tool call; null for other items. */
function wordsOf({ bytes, item }: StreamEvent): ItemWords | null {
  if (item === null) return null;
  const text = bytes.subarray(item.valueStart, item.valueEnd);
  return text.includes(CALL) ? readItemWords(text) : null;
}

function toolOf(words: ItemWords | null): ProviderTool | null {
  if (words === null) return null;
  return isWebSearch(words) ? WEB_SEARCH : toolIn(words);
}

function indexOf(event: StreamEvent): string {
  const member = findMember(event, 'output_index');
  return member === undefined ? '' : event.bytes.toString('latin1', member.valueStart, member.valueEnd);
}
