import { objectOf, type JsonObject } from '../../json/loose-values';
import type { AnswerSource } from '../answer-source';
import { eventData, eachEvent, type StreamCiter } from '../stream-events';
import { messageSource } from './message-answer';

/** Cites sources at the end of the first text of a streamed message. */
export class MessagesCiter implements StreamCiter {
  #block: { readonly index: unknown; text: string } | null = null;
  #isDone = false;

  constructor(private readonly sources: readonly AnswerSource[]) {}

  cite(events: Buffer): Buffer {
    return this.#isDone ? events : eachEvent(events, (event) => this.#take(event));
  }

  #take(event: Buffer): readonly Buffer[] {
    const data = this.#isDone ? null : eventData(event);
    if (data === null) return [event];
    const said = objectOf(JSON.parse(data.toString()));
    if (this.#block === null) this.#begin(said);
    else if (said['index'] === this.#block.index) return [...this.#goOn(said, this.#block), event];
    return [event];
  }

  #begin({ type, index, content_block: block }: JsonObject): void {
    const { type: kind, text } = objectOf(block);
    if (type === 'content_block_start' && kind === 'text') this.#block = { index, text: String(text ?? '') };
  }

  #goOn({ type, delta }: JsonObject, block: { text: string }): readonly Buffer[] {
    const { type: kind, text } = objectOf(delta);
    if (kind === 'text_delta') block.text += String(text);
    if (type !== 'content_block_stop') return [];
    this.#isDone = true;
    return this.sources.map((source) => this.#citation(messageSource(source)));
  }

  #citation(citation: object): Buffer {
    const delta = { type: 'citations_delta', citation };
    const event = { type: 'content_block_delta', index: this.#block!.index, delta };
    return Buffer.from(`event: content_block_delta\ndata: ${JSON.stringify(event)}\n\n`);
  }
}
