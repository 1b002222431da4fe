import type { AppError } from '@libs/errors';
import type { AnswerStream, StreamOutcome } from '@libs/inference';
import { splitEvents } from './stream-events';

/** Puts citations into the events of one stream. */
export interface StreamCiter {
  /** The events that take the place of this one. */
  take(event: Buffer): readonly Buffer[];
}

/** A stream whose text cites sources. */
export class CitedStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;

  constructor(
    private readonly inner: AnswerStream,
    private readonly citer: StreamCiter,
  ) {
    this.outcome = inner.outcome;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const events of this.inner) yield this.#cited(events);
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: AppError): Buffer {
    return this.#cited(this.inner.lastWords(error));
  }

  #cited(events: Buffer): Buffer {
    return Buffer.concat(splitEvents(events).flatMap((event) => this.citer.take(event)));
  }
}
