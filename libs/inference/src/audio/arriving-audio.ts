import { callCancelled, Cancellation } from '../model/cancellation';
import type { LeaveTerms } from '../model/leftover-reads';
import type { GrowingPieces } from './audio-bytes';

/**
 * A recording that is sent to upstreams while it is still being received (ADR 0027). It is iterated over once for each
 * endpoint that is tried, each time from its beginning, and waits for further pieces.
 *
 * Its last piece is held back until `complete`. So a call that has begun to send it has sent fewer bytes than it
 * announced, and no upstream has a whole request while the recording may still be found to be invalid.
 */
export class ArrivingAudio implements AsyncIterable<Buffer> {
  /** Aborted when the recording is annulled; ends the calls that were begun with it. */
  readonly annulment = new Cancellation();
  /** Resolves when the whole recording may be sent; rejects when it is annulled. */
  readonly whole: Promise<void>;
  readonly #whole = Promise.withResolvers<void>();
  readonly #growing: GrowingPieces;
  #wholeAtMs: number | null = null;
  #change = Promise.withResolvers<void>();

  constructor(
    /** Announced length of the whole recording, in bytes. */
    readonly length: number,
    growing: GrowingPieces,
  ) {
    this.#growing = growing;
    growing.onPiece = this.#onChange;
    this.whole = this.#whole.promise;
    // Prevents an unhandled rejection where no code awaits `whole`.
    this.whole.catch(() => undefined);
  }

  get isWhole(): boolean {
    return this.#wholeAtMs !== null;
  }

  get isAnnulled(): boolean {
    return this.annulment.aborted && this.annulment.leaveTerms === null;
  }

  /**
   * When the whole recording had arrived, by `performance.now()`; null before that. Upstream time limits count from
   * then.
   */
  get wholeAtMs(): number | null {
    return this.#wholeAtMs;
  }

  /** Releases the last piece. Call it once all announced bytes have arrived and the recording is found valid. */
  complete(): void {
    if (this.isWhole || this.isAnnulled) return;
    this.#wholeAtMs = performance.now();
    this.#whole.resolve();
    this.#onChange();
  }

  /** Ends every call that was begun with the recording; nothing more of it is sent. */
  annul(): void {
    if (this.isAnnulled) return;
    this.#growing.onPiece = null;
    this.#whole.reject(callCancelled());
    this.annulment.abort();
    this.#onChange();
  }

  /**
   * Notes that the caller has disconnected after the whole recording was received. The calls continue within these
   * bounds.
   */
  leave(terms: LeaveTerms): void {
    this.annulment.leave(terms);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    const { pieces } = this.#growing;
    for (let index = 0; !this.isWhole || index < pieces.length;) {
      if (this.isAnnulled) throw callCancelled();
      if (this.isWhole || index < pieces.length - 1) yield pieces[index++]!;
      else await this.#change.promise;
    }
  }

  readonly #onChange = (): void => {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  };
}
