import type { SizedBody } from './upstream-call';

/** Shorter bodies are passed as one buffer: keeping them in memory costs less than iterating over them. */
const SHORT_BYTES = 16 * 1024;

/** A body that is passed to one reader once and not kept in memory. */
class GivenOnce implements IterableIterator<Buffer> {
  readonly length: number;
  #bytes: Buffer | null;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.length = bytes.length;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<Buffer> {
    const bytes = this.#bytes;
    this.#bytes = null;
    return bytes === null ? { done: true, value: undefined } : { done: false, value: bytes };
  }
}

/**
 * Returns the body of a request whose answer may take minutes. The HTTP client keeps a reference to a body until the
 * answer has ended. So a long body is passed as an iterable that releases its bytes.
 */
export function givenOnce(body: Buffer): Buffer | SizedBody {
  return body.length <= SHORT_BYTES ? body : new GivenOnce(body);
}
