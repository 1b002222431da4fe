import type { AppError } from '@libs/errors';
import type { AnswerFrame } from './answer-frame';
import type { FinishReason } from './finish-reason';
import type { Usage } from '../pricing/usage';
import type { Cost } from '../pricing/price';

/**
 * How a stream ended: complete, cut by a limit or filter, failed at the upstream or here, or cancelled by the caller.
 */
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
 * An answer that arrives in pieces. Each iteration yields all pieces that are ready, at least one. The upstream is read
 * only as fast as the stream is iterated. Stopping early or calling `cancel` ends the upstream's work. Iterate it only
 * once.
 */
export interface StreamOf<Piece> extends AsyncIterable<readonly Piece[]> {
  /** Resolves when the iteration ends or `cancel` was called; never rejects. */
  readonly outcome: Promise<StreamOutcome>;
  /** The caller has left. Idempotent. */
  cancel(): void;
}

/** A streamed answer whose pieces are events ready to be sent to the caller, including the terminal event. */
export interface AnswerStream extends StreamOf<AnswerFrame> {
  /**
   * Returns the last events of a cancelled stream, with the reason, in the caller's dialect. Empty if the stream ended
   * by itself.
   */
  lastWords(error: AppError): readonly AnswerFrame[];
}
