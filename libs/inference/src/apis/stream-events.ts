import type { AnswerFrame } from '../model/answer-frame';
import type { AnswerSource } from './answer-source';

/** Puts citations into the events of one stream. */
export interface StreamCiter {
  /** Returns the events that take the place of this one. */
  cite(frame: AnswerFrame): readonly AnswerFrame[];
}

/** What an event of our own says of its answer. */
export interface AnswerHead {
  readonly generationId: string;
  /** Slug of the model that answers. */
  readonly model: string;
  /** Name of the provider. */
  readonly provider: string;
}

/** Where the events of an API have the answer's own members, and how they cite. */
export interface StreamEvents {
  /** Returns an event for members of the answer where only `[DONE]` is left; null for streams that never end so. */
  readonly ownEnd: ((head: AnswerHead) => AnswerFrame) | null;
  /** Returns the JSON object in an event's data that has the members of a whole answer, such as `usage`. */
  readonly answerIn: (data: Buffer) => Buffer | undefined;
  /** Returns the data with another such object. */
  readonly withAnswer: (data: Buffer, answer: Buffer) => Buffer;
  readonly citer: (sources: readonly AnswerSource[], head: AnswerHead) => StreamCiter;
}
