import { AppError } from '@libs/errors';
import {
  APIS,
  eventData,
  spliceMembers,
  withEventData,
  type AnswerStream,
  type StreamableApi,
  type StreamEnds,
  type StreamOutcome,
  type StreamResult,
} from '@libs/inference';

/** A member for the end of an answer, as JSON text that is made when it is needed. */
export interface ClosingMember {
  readonly name: string;
  readonly value: () => string;
}

/**
 * Adds one member to the last event of a stream. All other bytes pass. An end that reports an internal error gets no
 * metadata.
 */
export class MetadataStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;
  private readonly inner: AnswerStream;
  private readonly ends: StreamEnds;

  constructor(
    api: StreamableApi,
    private readonly generationId: string,
    private readonly served: StreamResult,
    private readonly member: ClosingMember,
  ) {
    this.ends = APIS[api].stream;
    this.inner = served.stream;
    this.outcome = this.inner.outcome;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const events of this.inner) {
      // The last bytes come when the outcome is known.
      yield this.ends.lastEventIn(events) === null ? events : this.closed(events, (await this.outcome).error);
    }
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: AppError): Buffer {
    return this.closed(this.inner.lastWords(error), error);
  }

  private closed(events: Buffer, error: AppError | null): Buffer {
    const last = error?.status === 500 ? null : this.ends.lastEventIn(events);
    if (last === null) return events;
    const { start, end } = last;
    if (start === end) return Buffer.concat([this.extended(this.ownEnd()), events]);
    return Buffer.concat([events.subarray(0, start), this.extended(events.subarray(start, end)), events.subarray(end)]);
  }

  /** The event with the member in its answer. */
  private extended(event: Buffer): Buffer {
    const data = eventData(event);
    const answer = data === null ? undefined : this.ends.answerIn(data);
    if (data === null || answer === undefined) {
      throw new AppError('server', 'Internal error', { internal: 'the last event of a stream has no answer' });
    }
    const whole = spliceMembers(answer, { set: { [this.member.name]: this.member.value() } });
    return withEventData(event, this.ends.withAnswer(data, whole));
  }

  /** Returns a separate last event, for a chat whose last chunk has been sent already. */
  private ownEnd(): Buffer {
    const { model, endpoint } = this.served;
    const head = { generationId: this.generationId, model: model.slug, provider: endpoint.provider.name };
    return this.ends.ownEnd!(head);
  }
}
