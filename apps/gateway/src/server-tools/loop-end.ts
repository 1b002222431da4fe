import type { AppError } from '@libs/errors';
import type { AnswerEvent, FinishReason, StreamOutcome, TerminalState } from '@libs/inference';
import type { TurnRelay } from './turn-relay';

/** How an answer came to its end. */
export interface LoopEnd {
  readonly state: TerminalState;
  readonly error: AppError | null;
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
  readonly upstreamId: string | null;
  /** The tier that served the last turn, if the upstream reports it. */
  readonly serviceTier?: string | undefined;
}

/** Value of `native_finish_reason`, and of `stopped_by` in the metadata. */
export const OUT_OF_CREDIT = 'insufficient_credits';

/** The next turn could not be paid: the output so far is kept, and the answer says why it ends. */
export const UNPAID: LoopEnd = {
  state: 'completed',
  error: null,
  finishReason: 'length',
  nativeFinishReason: OUT_OF_CREDIT,
  upstreamId: null,
};

/** Ends an answer between two turns. */
export function brokenBy(error: AppError, isCancelled: boolean): LoopEnd {
  return {
    state: isCancelled ? 'cancelled' : 'failed',
    error: isCancelled ? null : error,
    finishReason: null,
    nativeFinishReason: null,
    upstreamId: null,
  };
}

/** A model that only tried to call a tool it may not call has stopped. */
export function endOf(outcome: StreamOutcome, { hasOtherCalls, serviceTier }: TurnRelay): LoopEnd {
  const { state, error, nativeFinishReason, upstreamId } = outcome;
  const isUnheard = outcome.finishReason === 'tool_calls' && !hasOtherCalls;
  const finishReason = isUnheard ? 'stop' : outcome.finishReason;
  return { state, error, finishReason, nativeFinishReason, upstreamId, serviceTier };
}

export function finishOf({ finishReason, nativeFinishReason, serviceTier }: LoopEnd): AnswerEvent {
  const finish = { type: 'finish' as const, finishReason: finishReason ?? 'stop', nativeFinishReason };
  return serviceTier === undefined ? finish : { ...finish, serviceTier };
}
