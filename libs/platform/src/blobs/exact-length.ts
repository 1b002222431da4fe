import { pipeline, Transform, type Readable, type TransformCallback } from 'node:stream';
import { AppError } from '@libs/errors';
import type { ByteRange } from './blob-store';

/** Returns the length of a part of a blob, or of the whole. */
export function lengthOf(bytes: number, range?: ByteRange): number {
  return range ? range.last - range.first + 1 : bytes;
}

/**
 * Returns the stream, which fails if its source ends early and before a byte beyond the length is passed on. Its reader
 * has promised that length in a header of HTTP: with fewer bytes, the next response on the connection would be taken for
 * the rest of this one, and further bytes for the next response.
 */
export function withExactLength(source: Readable, length: number): Readable {
  // The callback can be empty: the reader gets the error.
  return pipeline(source, new ExactLength(length), () => {});
}

export function wrongLength(): AppError {
  return new AppError('server', 'Internal error', { internal: 'a blob has another length than was stored' });
}

class ExactLength extends Transform {
  #left: number;

  constructor(length: number) {
    super();
    this.#left = length;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#left -= chunk.length;
    if (this.#left < 0) done(wrongLength());
    else done(null, chunk);
  }

  override _flush(done: TransformCallback): void {
    done(this.#left === 0 ? null : wrongLength());
  }
}
