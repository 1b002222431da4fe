import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { AppError } from '@libs/errors';
import { BlobStore, checkBlobKey, type ByteRange } from './blob-store';
import { lengthOf, withExactLength, wrongLength } from './exact-length';

/** Blobs as files. A file gets its name when it is complete and synced to the disk. */
export class FolderBlobStore extends BlobStore {
  readonly #folder: string;

  constructor(folder: string) {
    super();
    this.#folder = resolve(folder);
  }

  override async write(key: string, chunks: AsyncIterable<Buffer>): Promise<number> {
    const path = this.#pathOf(key);
    await mkdir(dirname(path), { recursive: true });
    const partial = `${path}.${randomBytes(6).toString('hex')}.part`;
    const file = await open(partial, 'wx');
    try {
      const bytes = await writeAll(file, chunks);
      await file.sync();
      await file.close();
      await rename(partial, path);
      return bytes;
    } catch (error) {
      await file.close().catch(() => undefined);
      await rm(partial, { force: true });
      throw error;
    }
  }

  override async read(key: string, bytes: number, range?: ByteRange): Promise<Readable> {
    const file = await this.#open(key);
    if ((await file.stat()).size !== bytes) {
      await file.close();
      throw wrongLength();
    }
    const stream = file.createReadStream({ start: range?.first ?? 0, ...(range && { end: range.last }) });
    return withExactLength(stream, lengthOf(bytes, range));
  }

  override async remove(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true });
  }

  async #open(key: string): Promise<FileHandle> {
    try {
      return await open(this.#pathOf(key), 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new AppError('not_found', 'Not found', { internal: 'a blob is gone from its folder', cause: error });
    }
  }

  #pathOf(key: string): string {
    return join(this.#folder, checkBlobKey(key));
  }
}

async function writeAll(file: FileHandle, chunks: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunks) {
    await file.writeFile(chunk);
    bytes += chunk.length;
  }
  return bytes;
}
