import type { AnswerStream } from '@libs/inference';
import { RewordedStream } from './reworded-stream';
import { splitEvents } from './stream-events';

/** Puts citations into the events of one stream. */
export interface StreamCiter {
  /** The events that take the place of this one. */
  take(event: Buffer): readonly Buffer[];
}

/** A stream whose text cites sources. */
export class CitedStream extends RewordedStream {
  constructor(
    inner: AnswerStream,
    private readonly citer: StreamCiter,
  ) {
    super(inner);
  }

  protected override reworded(events: Buffer): Buffer {
    return Buffer.concat(splitEvents(events).flatMap((event) => this.citer.take(event)));
  }
}
