import { crc32 } from 'node:zlib';
import { GatheredPieces } from '@libs/contracts';

/** One message of Amazon's event stream encoding (`application/vnd.amazon.eventstream`). */
export interface EventStreamMessage {
  /** Headers with text values; other kinds of values are not used here. */
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Buffer;
}

/** Bytes that are not a valid event stream: a wrong checksum, inconsistent lengths, or a message that is cut off. */
export class MalformedEventStream extends Error {
  override readonly name = 'MalformedEventStream';
}

/** Total length, length of the headers, and the checksum of both; four bytes each. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const SHORTEST_MESSAGE = PRELUDE_BYTES + CHECKSUM_BYTES;
const LONGEST_MESSAGE = 8 * 1024 * 1024;

/**
 * Splits a body into its messages, wherever the network splits it. Both checksums of a message are verified before its
 * content is used.
 */
export class EventStreamDecoder {
  readonly #gathered = new GatheredPieces();
  /** Number of bytes that must have arrived before the next step of decoding. */
  #needed = PRELUDE_BYTES;

  constructor(readonly onMessage: (message: EventStreamMessage) => void) {}

  /** Bytes of the message that has arrived in part. */
  get keptBytes(): number {
    return this.#gathered.bytes;
  }

  /** Takes the next bytes; calls `onMessage` for every message they complete. Throws MalformedEventStream. */
  push(chunk: Buffer): void {
    this.#gathered.add(chunk);
    if (this.#gathered.bytes < this.#needed) return;
    let rest = this.#gathered.take();
    this.#needed = neededFor(rest);
    while (rest.length >= this.#needed) {
      this.onMessage(readMessage(rest.subarray(0, this.#needed)));
      rest = rest.subarray(this.#needed);
      this.#needed = neededFor(rest);
    }
    this.#gathered.add(rest);
  }

  /** Ends the body. Throws MalformedEventStream if a message is incomplete. */
  end(): void {
    if (this.#gathered.bytes > 0) throw new MalformedEventStream('the stream ends within a message');
  }
}

/** Returns the length of the message that begins here; if its prelude is incomplete, the length of a prelude. */
function neededFor(bytes: Buffer): number {
  if (bytes.length < PRELUDE_BYTES) return PRELUDE_BYTES;
  const length = bytes.readUInt32BE(0);
  if (crc32(bytes.subarray(0, PRELUDE_BYTES - CHECKSUM_BYTES)) !== bytes.readUInt32BE(PRELUDE_BYTES - CHECKSUM_BYTES)) {
    throw new MalformedEventStream('the checksum of a prelude is wrong');
  }
  if (length > LONGEST_MESSAGE) throw new MalformedEventStream('a message is too long');
  if (length < SHORTEST_MESSAGE + bytes.readUInt32BE(4)) throw new MalformedEventStream('a message is too short');
  return length;
}

function readMessage(bytes: Buffer): EventStreamMessage {
  const end = bytes.length - CHECKSUM_BYTES;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) {
    throw new MalformedEventStream('the checksum of a message is wrong');
  }
  const payloadStart = PRELUDE_BYTES + bytes.readUInt32BE(4);
  return {
    headers: readHeaders(bytes.subarray(PRELUDE_BYTES, payloadStart)),
    payload: bytes.subarray(payloadStart, end),
  };
}

/** Lengths of values by their type; -1: the length is in the two bytes before the value. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];
const TEXT_TYPE = 7;

function readHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new MalformedEventStream('a header is cut');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const name = take(take(1)[0]!).toString();
    const type = take(1)[0]!;
    const length = VALUE_BYTES[type];
    if (length === undefined) throw new MalformedEventStream('a header is of an unknown type');
    const value = take(length === -1 ? take(2).readUInt16BE(0) : length);
    if (type === TEXT_TYPE) headers.set(name, value.toString());
  }
  return headers;
}
