import { constants, deflateRawSync, deflateSync } from 'node:zlib';

const ADLER_BASE = 65_521n;
const BLOCK_BYTES = 1024 * 1024;

/**
 * Returns a zlib stream (RFC 1950) of `megabytes` MiB of one byte, without ever having these bytes in memory: one
 * compressed block that ends on a byte boundary, repeated.
 */
export function deflatedRun(megabytes: number, byte = 0x20): Buffer {
  const block = deflateRawSync(Buffer.alloc(BLOCK_BYTES, byte), { finishFlush: constants.Z_FULL_FLUSH });
  const end = deflateRawSync(Buffer.alloc(0));
  const blocks = Array.from({ length: megabytes }, () => block);
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...blocks, end, adlerOfRun(megabytes * BLOCK_BYTES, byte)]);
}

/** Returns `deflatedRun` compressed again: about 3.5 bytes for each MiB. */
export function twiceDeflatedRun(megabytes: number, byte = 0x20): Buffer {
  return deflateSync(deflatedRun(megabytes, byte));
}

/** Computes Adler-32 of `length` equal bytes. */
function adlerOfRun(length: number, byte: number): Buffer {
  const [n, value] = [BigInt(length), BigInt(byte)];
  const low = (1n + n * value) % ADLER_BASE;
  const high = (n + (value * n * (n + 1n)) / 2n) % ADLER_BASE;
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(Number((high << 16n) | low));
  return sum;
}

/**
 * Returns an LZW stream (PDF, EarlyChange 1) of `rounds` times about 7.4 MB of one byte: each code is the one that is
 * just being defined, so each piece is a byte longer than the last.
 */
export function lzwRun(rounds: number, byte = 0x20): Buffer {
  const bits = new BitWriter();
  for (let round = 0; round < rounds; round += 1) {
    bits.write(256, 9);
    bits.write(byte, 9);
    for (let code = 258; code <= 4_093; code += 1) bits.write(code, widthAt(code));
  }
  bits.write(256, 12);
  bits.write(257, 9);
  return bits.toBuffer();
}

/** Returns the width of the code that is written while `code` is the next one to be defined. */
function widthAt(code: number): number {
  if (code >= 2_047) return 12;
  if (code >= 1_023) return 11;
  return code >= 511 ? 10 : 9;
}

class BitWriter {
  readonly #bytes: number[] = [];
  #held = 0;
  #count = 0;

  write(value: number, width: number): void {
    this.#held = (this.#held << width) | value;
    this.#count += width;
    while (this.#count >= 8) {
      this.#count -= 8;
      this.#bytes.push((this.#held >> this.#count) & 0xff);
    }
    this.#held &= (1 << this.#count) - 1;
  }

  toBuffer(): Buffer {
    return Buffer.from([...this.#bytes, (this.#held << (8 - this.#count)) & 0xff]);
  }
}
