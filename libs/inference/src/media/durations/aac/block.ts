import { BAND_WIDTHS } from './bands';
import { Bits } from './bits';
import { readChannel, readWindows, UnusualAac } from './channel';

/** Elements of a block (ISO 14496-3, 4.4.2.1). */
const SINGLE_CHANNEL = 0;
const CHANNEL_PAIR = 1;
const LOW_FREQUENCIES = 3;
const DATA = 4;
const FILL = 6;
const END = 7;
/** Contents that a fill element may have: nothing, zeros, or high frequencies. All decoders skip these alike. */
const USUAL_FILLS: readonly number[] = [0, 1, 13, 14];

/**
 * Returns whether bytes are exactly one AAC block (a frame) followed only by zeros. Decoders would play other bytes
 * after a block as another block. Also returns false for features that few files use.
 * @param rateCode of the sample rate, from the configuration
 */
export function isOneBlock(bytes: Buffer, rateCode: number): boolean {
  const end = endOfBlock(bytes, rateCode);
  return end !== null && bytes.subarray(end).every((byte) => byte === 0);
}

function endOfBlock(bytes: Buffer, rateCode: number): number | null {
  const bits = new Bits(bytes);
  try {
    let kind = bits.read(3);
    while (kind !== END && !bits.isPastEnd) {
      readElement(bits, kind, rateCode);
      kind = bits.read(3);
    }
  } catch (error) {
    if (error instanceof UnusualAac) return null;
    throw error;
  }
  return bits.isPastEnd ? null : bits.nextByte;
}

function readElement(bits: Bits, kind: number, rateCode: number): void {
  if (kind === FILL) return readFill(bits);
  const widths = BAND_WIDTHS[rateCode];
  if (widths === undefined) throw new UnusualAac();
  bits.read(4);
  switch (kind) {
    case SINGLE_CHANNEL:
    case LOW_FREQUENCIES:
      return readChannel(bits, widths, null);
    case CHANNEL_PAIR: {
      const windows = bits.has() ? readWindows(bits, widths) : null;
      if (windows !== null) readMiddleAndSide(bits, windows.bands * windows.groups.length);
      readChannel(bits, widths, windows);
      return readChannel(bits, widths, windows);
    }
    case DATA:
      return readData(bits);
    default:
      throw new UnusualAac();
  }
}

/** Skips the mid/side flags of a pair: no bands, one flag per band, or all bands. */
function readMiddleAndSide(bits: Bits, bands: number): void {
  const mask = bits.read(2);
  if (mask === 3) throw new UnusualAac();
  if (mask === 1) bits.position += bands;
}

function readData(bits: Bits): void {
  const isAligned = bits.has();
  let bytes = bits.read(8);
  if (bytes === 255) bytes += bits.read(8);
  if (isAligned) bits.position = bits.nextByte * 8;
  bits.position += bytes * 8;
}

function readFill(bits: Bits): void {
  let bytes = bits.read(4);
  if (bytes === 15) bytes += bits.read(8) - 1;
  if (bytes > 0 && !USUAL_FILLS.includes(bits.peek(4))) throw new UnusualAac();
  bits.position += bytes * 8;
}
