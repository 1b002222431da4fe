import type { AnswerEvent } from './canonical-answer';
import type { StreamOutcome } from './answer-stream';

/**
 * The output of a model in one turn, in no dialect: the events of one answer. Iterate it once; stopping early or
 * calling `cancel` ends the upstream's work.
 */
export interface Turn extends AsyncIterable<AnswerEvent> {
  /** Settles with the end of the iteration or with `cancel`, and never rejects. Errors are reported only here. */
  readonly outcome: Promise<StreamOutcome>;
  /** Idempotent. */
  cancel(): void;
}
