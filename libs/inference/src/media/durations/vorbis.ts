/** Samples of a short and a long block; each packet adds half of its block (Vorbis I §1.3.2). */
export interface VorbisBlocks {
  readonly short: number;
  readonly long: number;
}

/** Smallest ratio of short to long block that encoders use. */
const LEAST_PART = 8;

/** Reads the block sizes from the identification header at an offset (§4.2.2). */
export function vorbisBlocks(bytes: Buffer, at: number): VorbisBlocks {
  const exponents = bytes[at + 28] ?? 0;
  const long = 2 ** (exponents >> 4);
  return { short: Math.min(long, Math.max(2 ** (exponents & 15), long / LEAST_PART)), long };
}

/**
 * Returns the samples of the packet that begins at an offset; 0 for a header packet.
 * @param isUsual result of `hasUsualModes`: the first of two modes has short blocks; otherwise all count as long
 */
export function vorbisSamples(bytes: Buffer, at: number, blocks: VorbisBlocks, isUsual: boolean): number {
  const first = bytes[at]!;
  if ((first & 1) !== 0) return 0;
  return (isUsual && (first & 2) === 0 ? blocks.short : blocks.long) / 2;
}

const COUNT_BITS = 6;
const MAPPING_BITS = 8;
const TYPE_BITS = 32;
const MODE_BITS = MAPPING_BITS + TYPE_BITS + 1;
const MOST_MODES = 64;
const MOST_MAPPING = 63;

/**
 * Returns whether a setup header (§4.2.4) ends with two modes, the first for short and the second for long blocks, as
 * with all known encoders. Modes are its last part, so they are read from its end. If the bytes before them could be
 * further modes, returns false.
 */
export function hasUsualModes(setup: Buffer): boolean {
  let end = lastBit(setup);
  const flags: number[] = [];
  let found = 0;
  for (let count = 1; count <= MOST_MODES && end >= MODE_BITS + COUNT_BITS; count += 1) {
    const start = end - MODE_BITS;
    if (bitsAt(setup, start + 1, TYPE_BITS) !== 0) break;
    if (bitsAt(setup, end - MAPPING_BITS, MAPPING_BITS) > MOST_MAPPING) break;
    flags.unshift(bitsAt(setup, start, 1));
    if (bitsAt(setup, start - COUNT_BITS, COUNT_BITS) === count - 1) found = count;
    end = start;
  }
  const [second, first] = [flags.at(-1), flags.at(-2)];
  return found === 2 && first === 0 && second === 1;
}

/** Offset of the framing bit, which is the last set bit. */
function lastBit(bytes: Buffer): number {
  let at = bytes.length - 1;
  while (at >= 0 && bytes[at] === 0) at -= 1;
  return at < 0 ? 0 : at * 8 + 31 - Math.clz32(bytes[at]!);
}

/** Reads a number of at most 32 bits, the lowest bit first (§2.1.4). */
function bitsAt(bytes: Buffer, from: number, count: number): number {
  let value = 0;
  for (let bit = count - 1; bit >= 0; bit -= 1) {
    const at = from + bit;
    value = value * 2 + ((bytes[at >> 3]! >> (at & 7)) & 1);
  }
  return value;
}
