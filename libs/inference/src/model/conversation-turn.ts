import type { AnswerEvent } from './canonical-answer';
import type { StreamOutcome } from './answer-stream';

/**
 * What a model says in one turn, in no dialect: the events of one answer. Iterate it once; whoever stops early,
 * or calls `cancel`, ends the upstream's work.
 */
export interface Turn extends AsyncIterable<AnswerEvent> {
  /** Settles with the end of the iteration or with `cancel`, and never rejects. An error is told nowhere else. */
  readonly outcome: Promise<StreamOutcome>;
  /** Idempotent. */
  cancel(): void;
}
