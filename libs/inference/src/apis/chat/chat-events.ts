import type { AppError } from '@libs/errors';
import { chatChunk, DONE_EVENT, failureChunk } from '../../dialects/chat-chunk';
import { nowSeconds } from '../../dialects/openai-responses/response-object';
import type { AnswerSource } from '../answer-source';
import { lastBeforeDone, type AnswerHead, type StreamCiter, type StreamEnds } from '../stream-events';
import { besideOf, NOTHING_USED, type UnansweredCall } from '../unanswered-call';
import { chatSource } from './chat-answer';

/** A chunk of our own. `members` is the inside of a JSON object. */
function ownChunk(
  { generationId, model, provider }: Pick<UnansweredCall, 'generationId' | 'model' | 'provider'>,
  members: string,
): Buffer {
  const own = {
    id: JSON.stringify(generationId),
    model: JSON.stringify(model),
    ...(provider !== null && { provider: JSON.stringify(provider) }),
  };
  return chatChunk(own, String(nowSeconds()), members);
}

/** Returns the one chunk and the end of a chat that no provider answered. */
export function chatFailure(call: UnansweredCall, error: AppError): Buffer {
  const more = Object.entries(besideOf(call, error)).map(
    ([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  return Buffer.concat([ownChunk(call, failureChunk(error, NOTHING_USED) + more.join('')), DONE_EVENT]);
}

/** Cites sources in a chunk in front of all others. */
class ChatCiter implements StreamCiter {
  #head: Buffer | null;

  constructor(sources: readonly AnswerSource[], head: AnswerHead) {
    const annotations = sources.map((source) => chatSource(source));
    const choice = { index: 0, delta: { role: 'assistant', content: '', annotations }, finish_reason: null };
    this.#head = ownChunk(head, `"choices":${JSON.stringify([choice])}`);
  }

  cite(events: Buffer): Buffer {
    if (this.#head === null) return events;
    const all = Buffer.concat([this.#head, events]);
    this.#head = null;
    return all;
  }
}

export const chatStream: StreamEnds = {
  lastEventIn: lastBeforeDone,
  ownEnd: (head) => ownChunk(head, '"choices":[]'),
  answerIn: (data) => data,
  withAnswer: (_data, answer) => answer,
  citer: (sources, head) => new ChatCiter(sources, head),
};
