import type { Readable } from 'node:stream';

/** Part of a blob, both ends included, in bytes from 0. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Bytes under a name: a folder that all processes share, or a bucket. */
export abstract class BlobStore {
  /**
   * Writes a blob whole or not at all; one of the same name is replaced. `chunks` may throw, and nothing is kept then.
   *
   * @returns how many bytes it has
   */
  abstract write(key: string, chunks: AsyncIterable<Buffer>, contentType: string): Promise<number>;

  /** @throws AppError not_found when there is no such blob (any more) */
  abstract read(key: string, range?: ByteRange): Promise<Readable>;

  /** A blob that is not there is no error. */
  abstract remove(key: string): Promise<void>;
}

/** Names are made by us: a few words between slashes. */
const KEY = /^[A-Za-z0-9_-]{1,80}(?:\/[A-Za-z0-9_-]{1,80}){0,3}$/;

/** @throws TypeError for a name that could lead elsewhere */
export function checkBlobKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new TypeError('a blob needs a plain name');
}
