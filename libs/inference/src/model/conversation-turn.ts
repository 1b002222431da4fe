import type { AnswerEvent } from './canonical-answer';
import type { CanonicalRequest } from './canonical-request';
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

/** What a conversation counts by, for routes and for estimates: a body of its own, which no upstream sees. */
export function turnBody({ messages, tools }: CanonicalRequest): Buffer {
  return Buffer.from(JSON.stringify({ messages, tools }));
}
