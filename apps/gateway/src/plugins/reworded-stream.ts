import type { AppError } from '@libs/errors';
import type { AnswerStream, StreamOutcome } from '@libs/inference';

/** A stream whose events, and the last words among them, say something else or more. */
export abstract class RewordedStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;

  constructor(private readonly inner: AnswerStream) {
    this.outcome = inner.outcome;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const events of this.inner) yield this.reworded(events);
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: AppError): Buffer {
    return this.reworded(this.inner.lastWords(error));
  }

  /** @param events whole ones, each with the empty line at its end */
  protected abstract reworded(events: Buffer): Buffer;
}
