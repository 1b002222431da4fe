import { fieldsOf, type Fields } from '../server-tools/named-tools';
import type { ToolSource } from '../server-tools/server-tool';
import { writeSource } from './answer-body';
import type { StreamCiter } from './cited-stream';
import { dataOf } from './stream-events';

/** Cites sources at the end of the first text of a streamed message. */
export class MessagesCiter implements StreamCiter {
  #block: { readonly index: unknown; text: string } | null = null;
  #isDone = false;

  constructor(private readonly sources: readonly ToolSource[]) {}

  take(event: Buffer): readonly Buffer[] {
    const data = this.#isDone ? null : dataOf(event);
    if (data === null) return [event];
    const said = fieldsOf(JSON.parse(data.toString()));
    if (this.#block === null) this.#begin(said);
    else if (said['index'] === this.#block.index) return [...this.#goOn(said, this.#block), event];
    return [event];
  }

  #begin({ type, index, content_block: block }: Fields): void {
    const { type: kind, text } = fieldsOf(block);
    if (type === 'content_block_start' && kind === 'text') this.#block = { index, text: String(text ?? '') };
  }

  #goOn({ type, delta }: Fields, block: { text: string }): readonly Buffer[] {
    const { type: kind, text } = fieldsOf(delta);
    if (kind === 'text_delta') block.text += String(text);
    if (type !== 'content_block_stop') return [];
    this.#isDone = true;
    return this.sources.map((source) => this.#citation(writeSource('messages', source, block.text)));
  }

  #citation(citation: object): Buffer {
    const delta = { type: 'citations_delta', citation };
    const event = { type: 'content_block_delta', index: this.#block!.index, delta };
    return Buffer.from(`event: content_block_delta\ndata: ${JSON.stringify(event)}\n\n`);
  }
}
