import { GatheredPieces } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { AnswerFrame, AnswerStream, StreamOutcome } from '@libs/inference';
import type { ContentBudget } from './content-budget';

/** The most that is kept of the events of one stream. */
const MOST_STREAM_BYTES = 4 * 1024 * 1024;

/** What was kept of a stream by its end. Its bytes are from the budget and go back to it. */
export interface Overheard {
  readonly events: readonly Buffer[];
  readonly bytes: number;
  readonly outcome: StreamOutcome;
}

/**
 * Passes a stream on unchanged and keeps its bytes, without parsing them. It is over when its outcome is known and its
 * last bytes, which may come after that, have passed.
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

  /** Once something does not fit, what follows is left out too: words with a hole in them mislead. */
  private listen(event: Buffer): void {
    if (!this.isListening) return;
    const { length } = event;
    this.isListening = this.heard.bytes + length <= MOST_STREAM_BYTES && this.budget.take(length);
    if (this.isListening) this.heard.add(event);
  }
}
