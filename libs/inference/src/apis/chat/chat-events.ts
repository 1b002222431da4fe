import type { AppError } from '@libs/errors';
import { DONE_FRAME, joinFrames, type AnswerFrame } from '../../model/answer-frame';
import { chatChunk, failureChunk } from '../../dialects/openai-chat/stream-events';
import type { AnswerSource, ReadFile } from '../answer-source';
import type { AnswerHead, StreamCiter, StreamEvents } from '../stream-events';
import { besideOf, NOTHING_USED, type UnansweredCall } from '../unanswered-call';
import { chatFile, chatSource } from './chat-answer';
import { unixSeconds } from '../../model/unix-seconds';

/** Returns a chunk made by the gateway. `members` is the inside of a JSON object. */
function ownChunk(
  { generationId, model, provider }: Pick<UnansweredCall, 'generationId' | 'model' | 'provider'>,
  members: string,
): AnswerFrame {
  const own = {
    id: JSON.stringify(generationId),
    model: JSON.stringify(model),
    ...(provider !== null && { provider: JSON.stringify(provider) }),
  };
  return chatChunk(own, String(unixSeconds()), members);
}

/** Returns the only chunk and the end of a chat stream that no provider answered. */
export function chatFailure(call: UnansweredCall, error: AppError): Buffer {
  const more = Object.entries(besideOf(call, error)).map(
    ([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  return joinFrames([ownChunk(call, failureChunk(error, NOTHING_USED) + more.join('')), DONE_FRAME]);
}

/** Cites sources, and names files, in a chunk that it inserts before all others. */
class ChatCiter implements StreamCiter {
  #head: AnswerFrame | null;

  constructor(sources: readonly AnswerSource[], head: AnswerHead, files: readonly ReadFile[] = []) {
    const annotations = [...sources.map((source) => chatSource(source)), ...files.map(chatFile)];
    const choice = { index: 0, delta: { role: 'assistant', content: '', annotations }, finish_reason: null };
    this.#head = ownChunk(head, `"choices":${JSON.stringify([choice])}`);
  }

  cite(frame: AnswerFrame): readonly AnswerFrame[] {
    const frames = this.#head === null ? [frame] : [this.#head, frame];
    this.#head = null;
    return frames;
  }
}

export const chatStream: StreamEvents = {
  ownEnd: (head) => ownChunk(head, '"choices":[]'),
  answerIn: (data) => data,
  withAnswer: (_data, answer) => answer,
  citer: (sources, head, files) => new ChatCiter(sources, head, files),
};
