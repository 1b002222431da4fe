import { objectOf } from '@libs/json';
import { frameData, type AnswerFrame } from '../../model/answer-frame';
import { eventOf } from '../../dialects/anthropic-messages/relayed-stream';
import type { AnswerSource } from '../answer-source';
import type { StreamCiter } from '../stream-events';
import { messageSource } from './message-answer';

/** Cites sources at the end of the first text of a streamed message. */
export class MessagesCiter implements StreamCiter {
  /** Index of the block with the text. */
  #block: unknown = null;
  #isDone = false;

  constructor(private readonly sources: readonly AnswerSource[]) {}

  cite(frame: AnswerFrame): readonly AnswerFrame[] {
    const { type } = frame.event;
    if (this.#isDone) return [frame];
    if (this.#block === null && type === 'content_block_start') this.#begin(frame);
    else if (this.#block !== null && type === 'content_block_stop') return [...this.#citations(frame), frame];
    return [frame];
  }

  #begin(frame: AnswerFrame): void {
    const { index, content_block: block } = membersOf(frame);
    if (objectOf(block)['type'] === 'text') this.#block = index;
  }

  #citations(end: AnswerFrame): readonly AnswerFrame[] {
    const { index } = membersOf(end);
    if (index !== this.#block) return [];
    this.#isDone = true;
    return this.sources.map((source) => {
      const delta = { type: 'citations_delta', citation: messageSource(source) };
      return eventOf('content_block_delta', JSON.stringify({ type: 'content_block_delta', index, delta }));
    });
  }
}

function membersOf(frame: AnswerFrame): Readonly<Record<string, unknown>> {
  return objectOf(JSON.parse(String(frameData(frame))));
}
