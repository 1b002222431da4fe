import type { AppError } from '@libs/errors';
import type { AnswerFrame } from './answer-frame';
import type { FinishReason } from './finish-reason';
import type { Usage } from '../pricing/usage';
import type { Cost } from '../pricing/price';

/** How a stream ended: whole, cut by a limit or filter, broken by the upstream or us, or left by the caller. */
export type TerminalState = 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** The final result of a stream; exactly one per stream. */
export interface StreamOutcome {
  readonly state: TerminalState;
  readonly usage: Usage;
  readonly cost: Cost;
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
  readonly upstreamId: string | null;
  /** Set when `state` is `failed`; the stream's last event has already reported it to the caller. */
  readonly error: AppError | null;
}

/**
 * An answer that arrives in pieces. Each value is the pieces that are there at one time, at least one. The upstream is
 * read only as fast as this is iterated; stopping early or calling `cancel` ends the upstream's work. Iterate it once.
 */
export interface StreamOf<Piece> extends AsyncIterable<readonly Piece[]> {
  /** Settles with the end of the iteration or with `cancel`, and never rejects. */
  readonly outcome: Promise<StreamOutcome>;
  /** The caller has left. Idempotent. */
  cancel(): void;
}

/** A streamed answer: events ready to be written to the caller, terminal event included. */
export interface AnswerStream extends StreamOf<AnswerFrame> {
  /**
   * Returns the last events of a cancelled stream, with the reason, in the caller's dialect.
   * Empty for a stream that ended by itself.
   */
  lastWords(error: AppError): readonly AnswerFrame[];
}
