import { codecAt, type OggCodec } from './ogg-codecs';

const HEAD_BYTES = 27;
const IS_CONTINUED = 1;
/** A piece of a packet that is as long as this goes on in the next. */
const WHOLE_PIECE = 255;
const LONGEST_STATED = 24 * 3_600;
/** The end of a stream may be cut within its last packets (RFC 7845 §4.5, Vorbis I §A.2): of Opus 120 ms each. */
const MOST_CUT_SECONDS = 0.25;

/** One logical stream of an Ogg file: how long it plays, by the positions of its pages and by its packets. */
export class OggStream {
  private codec: OggCodec | null = null;
  private hasBegun = false;
  /** Whether the next piece goes on with a packet. */
  private isInside = false;
  /** Where the page at hand has the first bytes of the packet at hand. */
  private packetStart = 0;
  /** The largest position of a page. */
  private position = 0;
  private samples = 0;

  /** Takes the page that begins at a place. Returns how many pieces its packets have. */
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

  /** Whether nothing says how long its packets play. */
  get isUnknown(): boolean {
    return this.codec === null;
  }

  /** The longer of what its positions and its packets say, without what may be cut off. */
  get seconds(): number {
    if (this.codec === null) return 0;
    const { sampleRate, skipped } = this.codec;
    const played = Math.max(0, this.samples - skipped) / sampleRate;
    const stated = Math.max(0, this.position - skipped) / sampleRate;
    if (stated > LONGEST_STATED) return played;
    return stated > 0 && stated >= played - MOST_CUT_SECONDS ? stated : played;
  }
}

/** A page on which no packet ends has no position: all bits are set. Positions below zero are before the start. */
function positionAt(bytes: Buffer, at: number): number {
  const high = bytes.readInt32LE(at + 4);
  return high < 0 ? 0 : high * 2 ** 32 + bytes.readUInt32LE(at);
}
