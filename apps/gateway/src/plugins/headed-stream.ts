import type { AppError } from '@libs/errors';
import type { AnswerStream, StreamOutcome } from '@libs/inference';

/** A stream with events of ours in front. */
export class HeadedStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;

  constructor(
    private readonly head: Buffer,
    private readonly inner: AnswerStream,
  ) {
    this.outcome = inner.outcome;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      yield this.head;
      yield* this.inner;
    } finally {
      // Whoever stops at the head has not begun to read the rest, which must end all the same.
      this.inner.cancel();
    }
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: AppError): Buffer {
    return this.inner.lastWords(error);
  }
}
