import { AppError } from '@libs/errors';
import {
  findValue,
  spliceMembers,
  type AnswerStream,
  type StreamableApi,
  type StreamOutcome,
  type StreamResult,
} from '@libs/inference';

/** A member for the end of an answer, as JSON text that is made when it is needed. */
export interface ClosingMember {
  readonly name: string;
  readonly value: () => string;
}

const DONE_EVENT = Buffer.from('data: [DONE]\n\n');
/** The events that a stream of messages may end with. */
const LAST_HEADS = ['event: message_stop\n', 'event: error\n'].map((head) => Buffer.from(head));
const DATA = 'data: ';
const EVENT_END = '\n\n';

/**
 * A stream whose end has one member more: on chat the last chunk before `[DONE]`, on responses the
 * response of the terminal event, on messages `message_stop` or `error`. All other bytes pass. An end that reports
 * an internal error gets no metadata.
 */
export class MetadataStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;
  private readonly inner: AnswerStream;

  constructor(
    private readonly api: StreamableApi,
    private readonly generationId: string,
    private readonly served: StreamResult,
    private readonly member: ClosingMember,
  ) {
    this.inner = served.stream;
    this.outcome = this.inner.outcome;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const events of this.inner) {
      // The last bytes come when the outcome is known.
      yield this.isLast(events) ? this.closed(events, (await this.outcome).error) : events;
    }
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: AppError): Buffer {
    const events = this.inner.lastWords(error);
    return this.isLast(events) ? this.closed(events, error) : events;
  }

  private isLast(events: Buffer): boolean {
    if (this.api !== 'messages') return events.subarray(-DONE_EVENT.length).equals(DONE_EVENT);
    const start = lastEventStart(events);
    return LAST_HEADS.some((head) => events.subarray(start, start + head.length).equals(head));
  }

  private closed(events: Buffer, error: AppError | null): Buffer {
    if (error?.status === 500) return events;
    const end = this.api === 'messages' ? events.length : events.length - DONE_EVENT.length;
    const told = events.subarray(0, end);
    if (told.length === 0) return Buffer.concat([this.ownChunk(), events]);
    const start = told.indexOf(DATA, lastEventStart(told)) + DATA.length;
    const data = told.subarray(start, told.length - EVENT_END.length);
    return Buffer.concat([told.subarray(0, start), this.withMember(data), events.subarray(start + data.length)]);
  }

  private withMember(data: Buffer): Buffer {
    const set = { [this.member.name]: this.member.value() };
    if (this.api !== 'responses') return spliceMembers(data, { set });
    const response = findValue(data, ['response']);
    if (response === undefined) {
      throw new AppError('server', 'Internal error', { internal: 'a terminal event without a response' });
    }
    return spliceMembers(data, { set: { response: spliceMembers(response, { set }) } });
  }

  /** Where the last chunk of a chat has left already. */
  private ownChunk(): Buffer {
    const { model, endpoint } = this.served;
    const chunk = {
      id: this.generationId,
      object: 'chat.completion.chunk',
      created: Math.floor(Date.now() / 1_000),
      model: model.slug,
      provider: endpoint.provider.name,
      choices: [],
    };
    return Buffer.concat([
      Buffer.from(DATA),
      this.withMember(Buffer.from(JSON.stringify(chunk))),
      Buffer.from(EVENT_END),
    ]);
  }
}

/** Where the last event begins. Every event ends with an empty line. */
function lastEventStart(events: Buffer): number {
  const before = events.length < 4 ? -1 : events.lastIndexOf(EVENT_END, events.length - 3);
  return before === -1 ? 0 : before + EVENT_END.length;
}
