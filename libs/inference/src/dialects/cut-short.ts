import { AppError } from '@libs/errors';
import type { AnswerFrame } from '../model/answer-frame';
import type { AnswerStream, StreamOutcome } from '../model/answer-stream';
import type { CanonicalAnswer } from '../model/canonical-answer';
import type { Turn } from '../model/conversation-turn';
import { emptyUsage } from '../pricing/usage';
import { turnOf } from './conversation-turn';
import type { Answer, AnswerContext } from './dialect';
import type { Bill } from './translation';
import { isLengthError } from './openai-responses/error';
import { ResponsesStreamWriter } from './openai-responses/stream-writer';
import { writeAnswer } from './openai-responses/answer-writer';

const NOTHING_USED: Bill = {
  usage: emptyUsage('estimated'),
  cost: { totalCost: 0n, promptCost: 0n, completionCost: 0n },
};

/**
 * Returns the endpoint's answer, or `cut` if the endpoint finds the request too long: a response that is `incomplete`
 * for `max_output_tokens`, without any output.
 */
export function orCutShort<T>(answered: Promise<T>, cut: (error: AppError) => T): Promise<T> {
  return answered.catch((thrown: unknown) => {
    if (thrown instanceof AppError && isLengthError(thrown)) return cut(thrown);
    throw thrown;
  });
}

/** Returns an empty, free answer that was cut short. */
export function cutAnswer(error: AppError, context: AnswerContext): Answer {
  return {
    body: Buffer.from(JSON.stringify(writeAnswer(answerOf(error), NOTHING_USED, context))),
    ...NOTHING_USED,
    ...stopOf(error),
    upstreamId: null,
  };
}

/** Returns the same as a stream. */
export function cutStream(error: AppError, context: AnswerContext): AnswerStream {
  return new CutStream(error, context);
}

/** Returns an empty turn of a conversation that was cut short. */
export function cutTurn(error: AppError): Turn {
  return turnOf(answerOf(error), { state: 'incomplete', ...NOTHING_USED, ...stopOf(error) });
}

function answerOf(error: AppError): CanonicalAnswer {
  return { upstreamId: null, createdAt: null, choices: [{ parts: [], ...stopOf(error) }], usage: null };
}

function stopOf({ code, metadata }: AppError) {
  const native = metadata?.['provider_code'];
  return { finishReason: 'length' as const, nativeFinishReason: typeof native === 'string' ? native : code };
}

class CutStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;
  readonly #writer: ResponsesStreamWriter;
  #settle!: (outcome: StreamOutcome) => void;
  #state: 'incomplete' | 'cancelled' | null = null;

  constructor(
    private readonly error: AppError,
    context: AnswerContext,
  ) {
    this.#writer = new ResponsesStreamWriter(context);
    this.outcome = new Promise((resolve) => (this.#settle = resolve));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly AnswerFrame[]> {
    yield this.#writer.write({ type: 'start', upstreamId: null, createdAt: null });
    if (this.#state !== null) return;
    this.#writer.write({ type: 'finish', ...stopOf(this.error) });
    // Ends the turn before the last events are handed out: code that adds events waits for the outcome.
    this.#end('incomplete');
    yield this.#writer.complete(NOTHING_USED);
  }

  cancel(): void {
    this.#end('cancelled');
  }

  lastWords(error: AppError): readonly AnswerFrame[] {
    return this.#state === 'cancelled' ? this.#writer.fail(error, NOTHING_USED) : [];
  }

  #end(state: 'incomplete' | 'cancelled'): void {
    if (this.#state !== null) return;
    this.#state = state;
    this.#settle({ state, ...NOTHING_USED, ...stopOf(this.error), upstreamId: null, error: null });
  }
}
