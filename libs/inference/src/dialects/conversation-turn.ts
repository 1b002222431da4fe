import type { AppError } from '@libs/errors';
import { eventsOfAnswer } from '../model/answer-events';
import type { AnswerStream, StreamOutcome } from '../model/answer-stream';
import type { AnswerEvent, CanonicalAnswer } from '../model/canonical-answer';
import type { Turn } from '../model/conversation-turn';
import { brokenAnswer } from '../wire/upstream-error';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { AnswerContext } from './dialect';
import { readTranslated } from './translated-answer';
import { TranslatedStream } from './translated-stream';
import type { StreamReader, StreamWriter, UpstreamTranslation } from './translation';

/** Returns a whole answer as a turn that is over. @throws AppError provider_unavailable if the model gave up */
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

/** Returns a turn that is over, from its answer. */
export function turnOf(answer: CanonicalAnswer, end: Omit<StreamOutcome, 'upstreamId' | 'error'>): Turn {
  const events = eventsOfAnswer(answer);
  return {
    outcome: Promise.resolve({ ...end, upstreamId: answer.upstreamId, error: null }),
    cancel: () => undefined,
    async *[Symbol.asyncIterator]() {
      yield* events;
    },
  };
}

/** Resolves at the first content of a streamed turn; throws AppError when there is none. */
export async function openTurn(upstream: UpstreamStream, context: AnswerContext, reader: StreamReader): Promise<Turn> {
  const kept = new EventKeeper();
  return new StreamedTurn(await TranslatedStream.open(upstream, context, { reader, writer: kept }), kept);
}

const NOTHING = Buffer.alloc(0);

/** Keeps the events of an answer for `take`, and returns an empty buffer for each so that the stream goes on. */
class EventKeeper implements StreamWriter {
  #events: AnswerEvent[] = [];

  write(event: AnswerEvent): Buffer[] {
    this.#events.push(event);
    return [NOTHING];
  }

  complete(): Buffer[] {
    return [NOTHING];
  }

  fail(_error: AppError): Buffer[] {
    return [NOTHING];
  }

  take(): readonly AnswerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

/** A turn from a translated stream, which does timers, commitment, bill and end; only the output differs. */
class StreamedTurn implements Turn {
  readonly outcome: Promise<StreamOutcome>;

  constructor(
    private readonly stream: AnswerStream,
    private readonly kept: EventKeeper,
  ) {
    this.outcome = stream.outcome;
  }

  cancel(): void {
    this.stream.cancel();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AnswerEvent> {
    for await (const _piece of this.stream) yield* this.kept.take();
  }
}
