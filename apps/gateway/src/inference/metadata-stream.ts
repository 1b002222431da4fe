import { spliceMembers } from '@libs/json';
import { AppError, isMasked } from '@libs/errors';
import {
  APIS,
  frameData,
  withFrameData,
  type AnswerFrame,
  type AnswerStream,
  type StreamableApi,
  type StreamEvents,
  type StreamOutcome,
  type StreamResult,
} from '@libs/inference';

/** A field for the end of an answer; its JSON text is created when needed. */
export interface ClosingMember {
  readonly name: string;
  readonly value: () => string;
}

/**
 * Adds one field to the last event of a stream; other events are not changed. An end that reports an internal error
 * gets no metadata.
 */
export class MetadataStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;
  private readonly inner: AnswerStream;
  private readonly events: StreamEvents;

  constructor(
    api: StreamableApi,
    private readonly generationId: string,
    private readonly served: StreamResult,
    private readonly member: ClosingMember,
  ) {
    this.events = APIS[api].stream;
    this.inner = served.stream;
    this.outcome = this.inner.outcome;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly AnswerFrame[]> {
    for await (const frames of this.inner) {
      // The last event is delayed until the outcome is known.
      yield frames.at(-1)?.event.isEnd ? this.closed(frames, (await this.outcome).error) : frames;
    }
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: AppError): readonly AnswerFrame[] {
    return this.closed(this.inner.lastWords(error), error);
  }

  private closed(frames: readonly AnswerFrame[], error: AppError | null): readonly AnswerFrame[] {
    if ((error !== null && isMasked(error)) || frames.length === 0) return frames;
    const last = frames.findLastIndex(({ event }) => event.dataStart !== null);
    if (last === -1) return [this.extended(this.ownEnd()), ...frames];
    return frames.map((frame, index) => (index === last ? this.extended(frame) : frame));
  }

  /** Returns the event with the field added to its answer. */
  private extended(frame: AnswerFrame): AnswerFrame {
    const data = frameData(frame);
    const answer = data === null ? undefined : this.events.answerIn(data);
    if (data === null || answer === undefined) {
      throw new AppError('server', 'Internal error', { internal: 'the last event of a stream has no answer' });
    }
    const whole = spliceMembers(answer, { set: { [this.member.name]: this.member.value() } });
    return withFrameData(frame, this.events.withAnswer(data, whole));
  }

  /** Returns a separate last event, for a chat stream whose last chunk was already sent. */
  private ownEnd(): AnswerFrame {
    const { model, endpoint } = this.served;
    const head = { generationId: this.generationId, model: model.slug, provider: endpoint.provider.name };
    return this.events.ownEnd!(head);
  }
}
