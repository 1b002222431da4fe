import type { Readable } from 'node:stream';

/** Part of a blob, in bytes from 0; both ends are included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Stores bytes by name: in a folder that all processes share, or in a bucket. */
export abstract class BlobStore {
  /**
   * Writes a blob completely or not at all; replaces one with the same name. `chunks` may throw; then nothing is
   * stored.
   * @returns its number of bytes
   */
  abstract write(key: string, chunks: AsyncIterable<Buffer>, contentType: string): Promise<number>;

  /**
   * Returns the blob or a part of it. The stream fails if it ends early, and before it goes on for longer.
   * @param bytes the length that `write` returned
   * @throws AppError not_found if there is no such blob; server if it has another length
   */
  abstract read(key: string, bytes: number, range?: ByteRange): Promise<Readable>;

  /** Removing a blob that does not exist is not an error. */
  abstract remove(key: string): Promise<void>;
}

/** Form of a name, which is always ours: a few words between slashes. */
const KEY = /^[A-Za-z0-9_-]{1,80}(?:\/[A-Za-z0-9_-]{1,80}){0,3}$/;

/** @throws TypeError for a name that could lead to another folder */
export function checkBlobKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new TypeError('a blob needs a plain name');
}
