import type { AppError } from '@libs/errors';
import type { AnswerFrame, AnswerStream, StreamOutcome, StreamWriter, TerminalState } from '@libs/inference';
import type { ToolLoop } from './tool-loop';

/** A conversation of several turns as one streamed answer, in the caller's dialect. */
export class LoopStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;
  #settle!: (outcome: StreamOutcome) => void;
  #state: TerminalState | null = null;

  constructor(
    private readonly loop: ToolLoop,
    private readonly writer: StreamWriter,
  ) {
    this.outcome = new Promise((resolve) => (this.#settle = resolve));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly AnswerFrame[]> {
    try {
      for await (const event of this.loop.events()) {
        const written = this.writer.write(event);
        if (written.length > 0 && this.#state === null) yield written;
      }
      const { state = 'cancelled' as const, error = null } = this.loop.end ?? {};
      await this.#endAs(state);
      if (this.#state === 'cancelled') return;
      const { bill } = this.loop.bill;
      yield error === null ? this.writer.complete(bill) : this.writer.fail(error, bill);
    } finally {
      this.cancel();
    }
  }

  cancel(): void {
    if (this.#state !== null) return;
    this.loop.cancel();
    void this.#endAs('cancelled');
  }

  lastWords(error: AppError): readonly AnswerFrame[] {
    return this.#state === 'cancelled' ? this.writer.fail(error, this.loop.bill.bill) : [];
  }

  /** The first end counts. */
  async #endAs(state: TerminalState): Promise<void> {
    if (this.#state !== null) return;
    this.#state = state;
    await this.loop.settled();
    const { error = null, finishReason = null, nativeFinishReason = null, upstreamId = null } = this.loop.end ?? {};
    this.#settle({ state, ...this.loop.bill.charge, error, finishReason, nativeFinishReason, upstreamId });
  }
}
