import type { ServerToolPart } from '../../model/canonical-answer';
import { serverToolItem, serverToolItemId, statusOfTool, type ItemStatus } from './answer-items';
import type { EventSink } from './stream-events';
import type { ItemPlace, OpenItem, PartEvent, PartStart } from './open-item';

type ToolStart = Extract<PartStart, { kind: 'server-tool' }>;

/** Event types of tools that have their own progress events, in order: two before the work and one after it. */
const PROGRESS: Readonly<Record<string, { readonly before: readonly string[]; readonly after: string }>> = {
  web_search: {
    before: ['response.web_search_call.in_progress', 'response.web_search_call.searching'],
    after: 'response.web_search_call.completed',
  },
  image_generation: {
    before: ['response.image_generation_call.in_progress', 'response.image_generation_call.generating'],
    after: 'response.image_generation_call.completed',
  },
};

/** An output item for a running tool of the gateway. It ends when the tool ends, even if other items are still open. */
export class OpenServerTool implements OpenItem {
  isIdle = false;
  written: object;
  readonly #id: string;
  #hasEnded = false;

  constructor(
    private readonly start: ToolStart,
    private readonly sink: EventSink,
    private readonly place: ItemPlace,
  ) {
    this.#id = serverToolItemId(start.tool, place.responseId, place.outputIndex);
    this.written = this.#item(start.item, 'in_progress');
  }

  takes(): boolean {
    return false;
  }

  begin(): void {
    this.sink.emit('response.output_item.added', { output_index: this.place.outputIndex, item: this.written });
    for (const type of this.#progress?.before ?? []) this.sink.emit(type, this.#where());
  }

  take(event: PartEvent): void {
    if (event.type !== 'tool-outcome') return;
    const progress = this.#progress;
    if (event.hasSucceeded && progress !== undefined) this.sink.emit(progress.after, this.#where());
    this.#close(event.item, statusOfTool(event.hasSucceeded));
  }

  /** Ends the item. A tool without an outcome did not finish: its item is incomplete. */
  end(): void {
    this.#close(this.start.item, 'incomplete');
  }

  #close(item: ServerToolPart['item'], status: ItemStatus): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.isIdle = true;
    this.written = this.#item(item, status);
    this.sink.emit('response.output_item.done', { output_index: this.place.outputIndex, item: this.written });
  }

  get #progress() {
    return Object.hasOwn(PROGRESS, this.start.tool) ? PROGRESS[this.start.tool] : undefined;
  }

  #item(item: ServerToolPart['item'], status: ItemStatus): object {
    return serverToolItem(this.#id, { itemType: this.start.itemType, item }, status);
  }

  #where(): object {
    return { item_id: this.#id, output_index: this.place.outputIndex };
  }
}
