/** The part of a process's memory that one call may take for what comes from outside. */
export interface CallMemory {
  /**
   * Takes so many bytes more. Returns undefined when that is done, else a promise.
   *
   * @throws AppError provider_overloaded when there is no room within a short time, at once or by the promise
   */
  add(bytes: number): Promise<void> | undefined;
  /** Gives bytes back that were added. What is left is given back when the call is over. */
  give(bytes: number): void;
}

/** Of a fetch of any length: a connection with TLS, what it has buffered, and what decompresses it. */
const BYTES_OF_FETCH = 256 * 1024;
/** The pieces that arrive, the whole that is joined of them, and what is decoded from it. */
const COPIES_WHILE_READ = 3;
/** A text, the body that it is put into, what is parsed from that, and what is sent on. */
const COPIES_OF_TEXT = 4;
/** A recording, and what is sent on. */
const COPIES_OF_RECORDING = 2;
/** A picture or a film, its base64, the row that it is part of, and what is sent to the database. */
const COPIES_OF_MEDIUM = 5;

/** Takes memory for a piece of a body before it is kept. */
export type Reserve = (bytes: number) => Promise<void> | undefined;

/**
 * Reads something from outside, all of it from the memory of a call. Once it is read, what is needed of it stays taken
 * until the call is over. Where reading fails, everything is given back.
 *
 * @param read asks for no memory once it has ended
 * @param needed what is needed of its result, in bytes
 * @throws AppError provider_overloaded when there is no room within a short time; what `read` throws
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

/** Returns what a text needs that becomes part of a prompt. */
export function bytesForText(text: string): number {
  return Buffer.byteLength(text) * COPIES_OF_TEXT;
}

/** Returns what a medium needs that is stored with its job. */
export function bytesForMedium(length: number): number {
  return length * COPIES_OF_MEDIUM;
}

/** Returns what a recording needs that is sent to a provider. */
export function bytesForRecording(length: number): number {
  return length * COPIES_OF_RECORDING;
}
