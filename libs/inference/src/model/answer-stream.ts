import type { AppError } from '@libs/errors';
import type { FinishReason } from './finish-reason';
import type { Usage } from '../pricing/usage';
import type { Cost } from '../pricing/price';

/** How a stream ended: whole, cut by a limit or filter, broken by the upstream or us, or left by the caller. */
export type TerminalState = 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** What a stream came to. Exactly one per stream, and final. */
export interface StreamOutcome {
  readonly state: TerminalState;
  readonly usage: Usage;
  readonly cost: Cost;
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
  readonly upstreamId: string | null;
  /** Set when `state` is `failed`; the caller has already been told by an event. */
  readonly error: AppError | null;
}

/**
 * A streamed answer: buffers ready to be written to the caller, terminal event included. The upstream is
 * read only as fast as this is iterated; whoever stops iterating early, or calls `cancel`, ends the
 * upstream's work. Iterate it once.
 */
export interface AnswerStream extends AsyncIterable<Buffer> {
  /** Settles with the end of the iteration or with `cancel`, and never rejects. */
  readonly outcome: Promise<StreamOutcome>;
  /** The caller has left. Idempotent. */
  cancel(): void;
  /**
   * The events that tell the caller why a stream that was cancelled goes no further, in the caller's dialect.
   * Empty for a stream that came to an end of its own.
   */
  lastWords(error: AppError): Buffer;
}
