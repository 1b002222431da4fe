import type { AnswerFrame } from '../model/answer-frame';
import type { AnswerSource, ReadFile } from './answer-source';

/** Puts citations into the events of one stream. */
export interface StreamCiter {
  /** Returns the events that replace this one. */
  cite(frame: AnswerFrame): readonly AnswerFrame[];
}

/** The fields of an answer that events made by the gateway repeat. */
export interface AnswerHead {
  readonly generationId: string;
  /** Slug of the model that answers. */
  readonly model: string;
  /** Name of the provider. */
  readonly provider: string;
}

/** Describes where the events of an API hold the fields of the answer, and how they cite sources. */
export interface StreamEvents {
  /**
   * Returns an event with fields of the answer, if only `[DONE]` is left to send; null for APIs whose streams never end
   * like that.
   */
  readonly ownEnd: ((head: AnswerHead) => AnswerFrame) | null;
  /** Returns the JSON object in an event's data that holds the fields of a whole answer, such as `usage`. */
  readonly answerIn: (data: Buffer) => Buffer | undefined;
  /** Returns the data with another such object. */
  readonly withAnswer: (data: Buffer, answer: Buffer) => Buffer;
  /** @param files only for APIs that have annotations of files */
  readonly citer: (sources: readonly AnswerSource[], head: AnswerHead, files?: readonly ReadFile[]) => StreamCiter;
}
