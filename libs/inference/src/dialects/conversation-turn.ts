import { eventsOfAnswer } from '../model/answer-events';
import type { StreamOutcome } from '../model/answer-stream';
import type { AnswerEvent, CanonicalAnswer } from '../model/canonical-answer';
import type { Turn } from '../model/conversation-turn';
import { brokenAnswer } from '../wire/upstream-error';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { AnswerContext } from './dialect';
import { readTranslated } from './translated-answer';
import { TranslatedStream } from './translated-stream';
import type { PieceWriter, StreamReader, UpstreamTranslation } from './translation';

/** Returns a whole answer as a completed turn. @throws AppError provider_unavailable if the model gave up */
export function wholeTurn(body: Buffer, context: AnswerContext, upstream: UpstreamTranslation): Turn {
  const { answer, bill } = readTranslated(body, context, upstream);
  const [choice] = answer.choices;
  if (choice === undefined || choice.finishReason === 'error') {
    throw brokenAnswer(context.endpoint.provider, 'the model stopped with an error');
  }
  const { finishReason, nativeFinishReason } = choice;
  const isCut = finishReason === 'length' || finishReason === 'content_filter';
  return turnOf(answer, { state: isCut ? 'incomplete' : 'completed', ...bill, finishReason, nativeFinishReason });
}

/** Returns a completed turn for an answer. */
export function turnOf(answer: CanonicalAnswer, end: Omit<StreamOutcome, 'upstreamId' | 'error'>): Turn {
  const events = eventsOfAnswer(answer);
  return {
    outcome: Promise.resolve({ ...end, upstreamId: answer.upstreamId, error: null }),
    cancel: () => undefined,
    async *[Symbol.asyncIterator]() {
      yield events;
    },
  };
}

/** Resolves at the first content of a streamed turn; throws AppError if the stream ends without any. */
export function openTurn(upstream: UpstreamStream, context: AnswerContext, reader: StreamReader): Promise<Turn> {
  return TranslatedStream.open(upstream, context, { reader, writer: AS_THEY_ARE });
}

const AS_THEY_ARE: PieceWriter<AnswerEvent> = {
  write: (event) => [event],
  complete: () => [],
  fail: () => [],
};
