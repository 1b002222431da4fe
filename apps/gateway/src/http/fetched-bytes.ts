import { bytesOfString } from '@libs/json';

/** Memory of this process that one call reserves for downloaded content. */
export interface CallMemory {
  /** The workspace to which the memory is charged. */
  readonly holder: string;
  /**
   * Reserves more bytes. Returns undefined if that succeeds at once, otherwise a promise.
   * @throws AppError provider_overloaded if there is no room within a short time, at once or by the promise
   */
  add(bytes: number): Promise<void> | undefined;
  /** Gives reserved bytes back. The rest is given back when the call ends. */
  give(bytes: number): void;
}

/** Memory of any download: the TLS connection, its buffers and the decompressor. */
const BYTES_OF_FETCH = 256 * 1024;
/** Copies while a body is read: the chunks, the joined body, and the decoded text. */
const COPIES_WHILE_READ = 3;
/** Copies of a text in JSON: the text while it is written, the request body that contains it, the body sent upstream. */
const COPIES_IN_JSON = 3;
/** Copies of a text that is JSON already: those, and the parsed body. */
const COPIES_OF_TEXT = COPIES_IN_JSON + 1;
/** Copies of a recording: itself, and the body sent upstream. */
const COPIES_OF_RECORDING = 2;
/** Copies of a picture or video: itself, its base64, the row, and the row on the connection to PostgreSQL. */
const COPIES_OF_MEDIUM = 5;

/** Reserves memory for a chunk before the chunk is stored. */
export type Reserve = (bytes: number) => Promise<void> | undefined;

/**
 * Reads external content and counts its bytes against the memory of a call. Afterwards only `needed` bytes stay
 * reserved, until the call ends. Releases all bytes if reading fails.
 * @param read must not reserve anything after it has ended
 * @param needed returns the bytes that the result needs
 * @throws AppError provider_overloaded if there is no room within a short time; any error of `read`
 */
export async function countFetched<T>(
  memory: CallMemory,
  read: (reserve: Reserve) => Promise<T>,
  needed: (result: T) => number,
): Promise<T> {
  let taken = 0;
  const take: Reserve = (bytes) => {
    const waits = memory.add(bytes);
    if (waits === undefined) taken += bytes;
    return waits?.then(() => void (taken += bytes));
  };
  try {
    await take(BYTES_OF_FETCH);
    const result = await read((bytes) => take(bytes * COPIES_WHILE_READ));
    const missing = needed(result) - taken;
    if (missing > 0) await take(missing);
    else memory.give(-missing);
    return result;
  } catch (error) {
    memory.give(taken);
    throw error;
  }
}

/** Returns the bytes to reserve for a text that becomes part of a prompt. In JSON, it can be six times as long. */
export function bytesForText(text: string): number {
  return Buffer.byteLength(text) + bytesOfString(text) * COPIES_IN_JSON;
}

/** Returns the bytes to reserve for texts that become part of a prompt, from their length in JSON. */
export function bytesForTexts(length: number): number {
  return length * COPIES_OF_TEXT;
}

/** Returns the bytes to reserve for a picture or film that is stored with its job. */
export function bytesForMedium(length: number): number {
  return length * COPIES_OF_MEDIUM;
}

/** Returns the bytes to reserve for a recording that is sent to a provider. */
export function bytesForRecording(length: number): number {
  return length * COPIES_OF_RECORDING;
}
