import { GatheredPieces } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { AnswerFrame, AnswerStream, StreamOutcome } from '@libs/inference';
import type { ContentBudget } from './content-budget';

/** Most bytes that are kept of the events of one stream. */
const MOST_STREAM_BYTES = 4 * 1024 * 1024;

/** The part of a stream that was kept when it ended. Its bytes are taken from the budget and must be given back. */
export interface Overheard {
  readonly events: readonly Buffer[];
  readonly bytes: number;
  readonly outcome: StreamOutcome;
}

/**
 * Passes a stream on unchanged and keeps its bytes without parsing them. It is over when its outcome is known and its
 * last bytes have passed, which may be later.
 */
export class OverheardStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;
  private readonly heard = new GatheredPieces();
  private isListening = true;
  private isRead = false;

  constructor(
    private readonly inner: AnswerStream,
    private readonly budget: ContentBudget,
    private readonly onEnd: (overheard: Overheard) => void,
  ) {
    this.outcome = inner.outcome;
    void inner.outcome.then((outcome) => {
      if (!this.isRead) this.end(outcome);
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly AnswerFrame[]> {
    this.isRead = true;
    try {
      for await (const frames of this.inner) {
        for (const { bytes } of frames) this.listen(bytes);
        yield frames;
      }
    } finally {
      void this.outcome.then((outcome) => this.end(outcome));
    }
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: AppError): readonly AnswerFrame[] {
    return this.inner.lastWords(error);
  }

  private end(outcome: StreamOutcome): void {
    this.onEnd({ events: this.heard.close(), bytes: this.heard.bytes, outcome });
  }

  /** After a part that does not fit, everything else is dropped too, because a text with a gap would mislead. */
  private listen(event: Buffer): void {
    if (!this.isListening) return;
    const { length } = event;
    this.isListening = this.heard.bytes + length <= MOST_STREAM_BYTES && this.budget.take(length);
    if (this.isListening) this.heard.add(event);
  }
}
