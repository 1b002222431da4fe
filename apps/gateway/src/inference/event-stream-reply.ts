import type { ServerResponse } from 'node:http';
import { joinFrames, type AnswerFrame, type AnswerStream } from '@libs/inference';
import { PacedWriter, type UnreadMemory } from './paced-writer';

/** The times of a streamed reply, in milliseconds. */
export interface StreamPace {
  /** How long the first event may take before the head and a comment are sent without it. */
  readonly firstCommentMs: number;
  /** Time of silence after which the next comment is sent. */
  readonly keepAliveMs: number;
  /** How long a client may read nothing. */
  readonly writeIdleMs: number;
}

export const STREAM_PACE: StreamPace = { firstCommentMs: 15_000, keepAliveMs: 10_000, writeIdleMs: 60_000 };

export interface EventStreamReplyOptions {
  /** Name of the service, for the comment that keeps connections open. */
  readonly serviceName: string;
  /** Sets status and headers. Called once, right before the first byte. */
  readonly writeHead: () => void;
  readonly pace?: Partial<StreamPace>;
  /** Counts the bytes that the caller has not read yet; absent if nothing is counted. */
  readonly memory?: UnreadMemory;
}

/**
 * Writes a streamed answer to its client.
 *
 * The head is sent together with the first event, so that a call that fails early is answered with an error status.
 * Clients and proxies give up on a connection without data. So after `firstCommentMs` the head is sent with a comment,
 * and from then on a failure can only be reported as an event. During silence, a comment follows every `keepAliveMs`.
 * Comments come between events, never inside one, because each write consists of whole events.
 *
 * The upstream is read only while the client keeps up. So a slow client costs one socket buffer and one event.
 */
export class EventStreamReply {
  private readonly writer: PacedWriter;
  private readonly comment: string;
  private readonly pace: StreamPace;
  private keepAlive: NodeJS.Timeout | null = null;
  private hasHead = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: EventStreamReplyOptions,
  ) {
    this.pace = { ...STREAM_PACE, ...options.pace };
    this.comment = `: ${options.serviceName.toUpperCase()} PROCESSING\n\n`;
    this.writer = new PacedWriter(response, this.pace.writeIdleMs, options.memory);
  }

  /** Whether the status has been sent. */
  get hasBegun(): boolean {
    return this.hasHead;
  }

  /** Settles like `opening`; sends the head and comments while it waits. */
  async whileOpening<T>(opening: Promise<T>): Promise<T> {
    const firstComment = setTimeout(this.onFirstComment, this.pace.firstCommentMs);
    try {
      return await opening;
    } finally {
      clearTimeout(firstComment);
    }
  }

  /**
   * Writes a stream to its end. The stream ends with its own last event; with `lastWords` if the gateway ended it; or
   * with the connection, if the client disconnected or read nothing for a minute.
   */
  async write(stream: AnswerStream, lastWords: () => readonly AnswerFrame[]): Promise<void> {
    const { response, writer } = this;
    this.begin();
    const onClose = (): void => stream.cancel();
    response.once('close', onClose);
    if (!writer.isOpen) stream.cancel();
    try {
      for await (const frames of stream) {
        this.keepAlive?.refresh();
        if (!(await writer.write(joinFrames(frames)))) break;
      }
      // The outcome of a stream whose client has disconnected may take long, so it is not awaited.
      if (!writer.isOpen) return;
      const { state } = await stream.outcome;
      if (state === 'cancelled' && writer.isOpen) await writer.write(joinFrames(lastWords()));
    } finally {
      response.off('close', onClose);
      stream.cancel();
      this.end();
    }
  }

  /** Ends a reply that has begun and got no stream, with events that give the reason. */
  async fail(events: Buffer): Promise<void> {
    try {
      await this.writer.write(events);
    } finally {
      this.end();
    }
  }

  private readonly onFirstComment = (): void => {
    if (!this.writer.isOpen) return;
    this.begin();
    this.writer.writeIfIdle(this.comment);
  };

  private begin(): void {
    if (this.hasHead) return;
    this.hasHead = true;
    this.options.writeHead();
    this.keepAlive = setInterval(() => this.writer.writeIfIdle(this.comment), this.pace.keepAliveMs);
  }

  private end(): void {
    if (this.keepAlive !== null) clearInterval(this.keepAlive);
    if (this.writer.isOpen) this.response.end();
  }
}
