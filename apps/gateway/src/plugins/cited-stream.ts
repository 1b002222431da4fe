import type { AnswerStream, StreamCiter } from '@libs/inference';
import { RewordedStream } from './reworded-stream';

/** A stream whose text cites sources. */
export class CitedStream extends RewordedStream {
  constructor(
    inner: AnswerStream,
    private readonly citer: StreamCiter,
  ) {
    super(inner);
  }

  protected override reworded(events: Buffer): Buffer {
    return this.citer.cite(events);
  }
}
