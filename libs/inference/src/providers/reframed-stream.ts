import { MalformedJson } from '@libs/json';
import { AppError } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';
import { EventStreamDecoder, MalformedEventStream, type EventStreamMessage } from './event-stream-decoder';
import type { UpstreamStream } from '../wire/upstream-stream';
import { brokenAnswer } from '../wire/upstream-error';

/** Converts a message into the bytes of a server-sent event. Throws AppError for a message that reports an error. */
export type Reframe = (message: EventStreamMessage) => Buffer;

/**
 * A body in Amazon's event stream encoding, converted to server-sent events. Events before a broken message or an error
 * are returned first; the next read throws.
 */
export class ReframedStream implements UpstreamStream {
  readonly #upstream: UpstreamStream;
  readonly #provider: Provider;
  readonly #decoder: EventStreamDecoder;
  #output: Buffer[] = [];
  #failure: AppError | null = null;
  #isCancelled = false;

  constructor(upstream: UpstreamStream, provider: Provider, reframe: Reframe) {
    this.#upstream = upstream;
    this.#provider = provider;
    this.#decoder = new EventStreamDecoder((message) => this.#output.push(reframe(message)));
  }

  async read(keptBytes = 0): Promise<Buffer | null> {
    while (this.#output.length === 0) {
      if (this.#failure !== null) throw this.#failure;
      const chunk = await this.#upstream.read(keptBytes + this.#decoder.keptBytes);
      if (this.#isCancelled) return null;
      // Woken because the caller has disconnected.
      if (chunk?.length === 0) return chunk;
      this.#decode(chunk);
      if (chunk === null && this.#failure === null) return null;
    }
    const output = this.#output;
    this.#output = [];
    return output.length === 1 ? output[0]! : Buffer.concat(output);
  }

  leave(): number {
    return this.#upstream.leave();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#upstream.cancel();
  }

  discard(): void {
    this.#upstream.discard();
  }

  #decode(chunk: Buffer | null): void {
    try {
      if (chunk === null) this.#decoder.end();
      else this.#decoder.push(chunk);
    } catch (thrown) {
      const isBroken = thrown instanceof MalformedEventStream || thrown instanceof MalformedJson;
      this.#failure = isBroken ? brokenAnswer(this.#provider, thrown.message, thrown) : AppError.from(thrown);
    }
  }
}

const EVENT_NAME = /^[A-Za-z_]{1,64}$/;

/** Returns a server-sent event with this name. Data with several lines keeps its lines. */
export function serverSentEvent(name: string, data: Buffer): Buffer {
  if (!EVENT_NAME.test(name)) throw new MalformedEventStream('an event has no name');
  const isOneLine = !data.includes(0x0a) && !data.includes(0x0d);
  const lines = isOneLine ? data : Buffer.from(data.toString().replace(/\r\n?|\n/g, '\ndata: '));
  return Buffer.concat([Buffer.from(`event: ${name}\ndata: `), lines, Buffer.from('\n\n')]);
}
