import type { ReasoningDelta } from '../../model/canonical-answer';
import { itemId, sealedThought, thoughtItem, type ItemStatus } from './answer-items';
import type { EventSink } from './stream-events';
import type { ItemPlace, OpenItem, PartEvent } from './open-item';
import type { ReasoningPart } from '../../model/conversation';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A reasoning item. Its first event waits for the first delta, which brings the id that must be sent back to the
 * provider.
 */
export class OpenThoughts implements OpenItem {
  isIdle = false;
  written: object = {};
  readonly #ownId: string;
  readonly #part: Mutable<ReasoningPart> = { type: 'reasoning' };
  #hasBegun = false;
  #hasEnded = false;

  constructor(
    private readonly sink: EventSink,
    private readonly place: ItemPlace,
  ) {
    this.#ownId = itemId('rs', place.responseId, place.outputIndex);
  }

  takes(): boolean {
    return false;
  }

  begin(): void {
    // The item is announced by its first delta, or by its end.
  }

  take(event: PartEvent): void {
    if (event.type === 'reasoning-delta') this.#add(event.delta);
    else if (event.type === 'part-end') this.#close();
  }

  end(status: ItemStatus): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#close();
    const part = this.place.wantsSeals ? sealedThought(this.#part) : this.#part;
    this.written = thoughtItem(part, this.#id, status);
    this.sink.emit('response.output_item.done', { output_index: this.place.outputIndex, item: this.written });
  }

  #add({ text, summary, signature, encrypted, id, format }: ReasoningDelta): void {
    if (!this.#hasBegun && id !== undefined) this.#part.id = id;
    this.announce();
    if (signature !== undefined) this.#part.signature = signature;
    if (encrypted !== undefined) this.#part.encrypted = encrypted;
    if (format !== undefined) this.#part.format = format;
    if (summary !== undefined) this.#addSummary(summary);
    if (text !== undefined) this.#addText(text);
  }

  announce(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const item = thoughtItem({ type: 'reasoning' }, this.#id, 'in_progress');
    this.sink.emit('response.output_item.added', { output_index: this.place.outputIndex, item });
  }

  #addText(delta: string): void {
    if (this.#part.text === undefined) {
      this.sink.emit('response.content_part.added', { ...this.#text(), part: { type: 'reasoning_text', text: '' } });
    }
    this.#part.text = (this.#part.text ?? '') + delta;
    this.sink.emit('response.reasoning_text.delta', { ...this.#text(), delta });
  }

  #addSummary(delta: string): void {
    if (this.#part.summary === undefined) {
      const part = { type: 'summary_text', text: '' };
      this.sink.emit('response.reasoning_summary_part.added', { ...this.#summary(), part });
    }
    this.#part.summary = (this.#part.summary ?? '') + delta;
    this.sink.emit('response.reasoning_summary_text.delta', { ...this.#summary(), delta });
  }

  #close(): void {
    if (this.isIdle) return;
    this.isIdle = true;
    this.announce();
    const { text, summary } = this.#part;
    if (summary !== undefined) {
      this.sink.emit('response.reasoning_summary_text.done', { ...this.#summary(), text: summary });
      const part = { type: 'summary_text', text: summary };
      this.sink.emit('response.reasoning_summary_part.done', { ...this.#summary(), part });
    }
    if (text !== undefined) {
      this.sink.emit('response.reasoning_text.done', { ...this.#text(), text });
      this.sink.emit('response.content_part.done', { ...this.#text(), part: { type: 'reasoning_text', text } });
    }
  }

  get #id(): string {
    return this.#part.id ?? this.#ownId;
  }

  #text(): object {
    return { item_id: this.#id, output_index: this.place.outputIndex, content_index: 0 };
  }

  #summary(): object {
    return { item_id: this.#id, output_index: this.place.outputIndex, summary_index: 0 };
  }
}
