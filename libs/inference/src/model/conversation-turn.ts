import type { StreamOf } from './answer-stream';
import type { AnswerEvent } from './canonical-answer';

/** The output of a model in one turn: the canonical events of one answer. Errors are reported only in its outcome. */
export type Turn = StreamOf<AnswerEvent>;
