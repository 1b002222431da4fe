import type { AppError } from '@libs/errors';
import type { AnswerFrame, AnswerStream, StreamOutcome } from '@libs/inference';

/** A stream in which events are replaced, including those of `lastWords`. */
export class ChangedStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;

  /** @param changed returns the events that replace one event */
  constructor(
    private readonly inner: AnswerStream,
    private readonly changed: (frame: AnswerFrame) => readonly AnswerFrame[],
  ) {
    this.outcome = inner.outcome;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly AnswerFrame[]> {
    for await (const frames of this.inner) yield frames.flatMap(this.changed);
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: AppError): readonly AnswerFrame[] {
    return this.inner.lastWords(error).flatMap(this.changed);
  }
}
