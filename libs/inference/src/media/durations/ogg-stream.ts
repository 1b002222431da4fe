import { codecAt, type OggCodec } from './ogg-codecs';

const HEAD_BYTES = 27;
const IS_CONTINUED = 1;
/** A packet piece of this length continues in the next piece. */
const WHOLE_PIECE = 255;
const LONGEST_STATED = 24 * 3_600;
/** The last packets of a stream may be cut short (RFC 7845 §4.5, Vorbis I §A.2); Opus packets have up to 120 ms. */
const MOST_CUT_SECONDS = 0.25;

/** One logical stream of an Ogg file. Measures how long it plays, by the positions of its pages and by its packets. */
export class OggStream {
  private codec: OggCodec | null = null;
  private hasBegun = false;
  /** True if the next piece continues a packet. */
  private isInside = false;
  /** Offset of the first bytes of the current packet in the current page. */
  private packetStart = 0;
  /** The largest position of a page. */
  private position = 0;
  private samples = 0;

  /** Adds the page that begins at an offset. Returns the number of packet pieces in it. */
  add(bytes: Buffer, at: number): number {
    const pieces = Math.min(bytes[at + 26]!, bytes.length - at - HEAD_BYTES);
    if ((bytes[at + 5]! & IS_CONTINUED) === 0) this.isInside = false;
    const table = at + HEAD_BYTES;
    let next = table + pieces;
    this.packetStart = next;
    for (let piece = 0; piece < pieces; piece += 1) next = this.addPiece(bytes, next, bytes[table + piece]!);
    this.position = Math.max(this.position, positionAt(bytes, at + 6));
    return pieces;
  }

  /** Returns where the next piece begins. */
  private addPiece(bytes: Buffer, at: number, size: number): number {
    const end = at + size;
    if (!this.isInside && size > 0 && at < bytes.length) this.beginPacket(bytes, at);
    this.isInside = size === WHOLE_PIECE;
    if (!this.isInside) this.codec?.endPacket?.(bytes, this.packetStart, end);
    return end;
  }

  private beginPacket(bytes: Buffer, at: number): void {
    if (this.hasBegun) this.samples += this.codec?.samplesOf(bytes, at) ?? 0;
    else this.codec = codecAt(bytes, at);
    this.hasBegun = true;
    this.packetStart = at;
  }

  /** True if the playing time of its packets is unknown. */
  get isUnknown(): boolean {
    return this.codec === null;
  }

  /** The longer of the times by positions and by packets, minus what may be cut off. */
  get seconds(): number {
    if (this.codec === null) return 0;
    const { sampleRate, skipped } = this.codec;
    const played = Math.max(0, this.samples - skipped) / sampleRate;
    const stated = Math.max(0, this.position - skipped) / sampleRate;
    if (stated > LONGEST_STATED) return played;
    return stated > 0 && stated >= played - MOST_CUT_SECONDS ? stated : played;
  }
}

/**
 * Returns the position of a page. A page on which no packet ends has none (all bits set). Negative positions are before
 * the start.
 */
function positionAt(bytes: Buffer, at: number): number {
  const high = bytes.readInt32LE(at + 4);
  return high < 0 ? 0 : high * 2 ** 32 + bytes.readUInt32LE(at);
}
