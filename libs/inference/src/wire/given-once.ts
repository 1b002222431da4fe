import type { SizedBody } from './upstream-call';

/** A shorter body costs less as one buffer than it takes in memory. */
const SHORT_BYTES = 16 * 1024;

/** A body that is given to one reader once, and not kept. */
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
 * Returns the body of a request whose answer may take minutes. The HTTP client holds on to a body until its answer has
 * ended, so a long one is given to it as something that can be iterated over.
 */
export function givenOnce(body: Buffer): Buffer | SizedBody {
  return body.length <= SHORT_BYTES ? body : new GivenOnce(body);
}
