/** Samples per block by code (RFC 9639 §9.1.1). For codes 6 and 7 a number after the frame header has the count. */
const BLOCK_SIZES = [0, 192, 576, 1_152, 2_304, 4_608, 0, 0, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768];
/**
 * Sample rates by code (§9.1.2). 0 means the file's rate; for codes from 12 on a number after the frame header has it.
 */
const RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
const RATE_UNITS = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000, 1, 10];
/** Number of bytes that the block size takes after the frame header, by the same codes. */
const BLOCK_SIZE_BYTES = [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0];
const RATE_BYTES = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2];
const NO_RATE = 15;
const MOST_CHANNELS_CODE = 10;
const RESERVED_BITS_CODE = 3;

/** CRC-8 with the polynomial x^8 + x^2 + x + 1 (§9.1.8). */
const CRC_8 = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80 ? (crc << 1) ^ 0x07 : crc << 1;
  return crc;
});

/**
 * Returns how long the frame plays whose header begins at an offset; 0 if none does. If the frame and the file state
 * different sample rates, the lower one counts, because decoders differ in which they use.
 * @param fileRate samples per second that the file states; 0 if it states none
 */
export function flacFrameSeconds(bytes: Buffer, at: number, fileRate: number): number {
  if (!beginsHead(bytes, at)) return 0;
  const blockCode = bytes[at + 2]! >> 4;
  const rateCode = bytes[at + 2]! & 15;
  const size = at + 4 + NUMBER_BYTES[bytes[at + 4]!]!;
  const rate = size + BLOCK_SIZE_BYTES[blockCode]!;
  const end = rate + RATE_BYTES[rateCode]!;
  if (end >= bytes.length || !hasValidCrc(bytes, at, end)) return 0;
  const samples = rate === size ? BLOCK_SIZES[blockCode]! : numberAt(bytes, size, rate) + 1;
  const own = end === rate ? RATES[rateCode]! : numberAt(bytes, rate, end) * RATE_UNITS[rateCode]!;
  const slower = own === 0 || fileRate === 0 ? own + fileRate : Math.min(own, fileRate);
  return slower === 0 ? 0 : samples / slower;
}

/** Returns whether the first four bytes of a frame header are valid: none of their codes is reserved. */
function beginsHead(bytes: Buffer, at: number): boolean {
  if (at + 6 > bytes.length || bytes[at] !== 0xff || (bytes[at + 1]! & 0xfe) !== 0xf8) return false;
  const codes = bytes[at + 2]!;
  const sample = bytes[at + 3]!;
  if (codes >> 4 === 0 || (codes & 15) === NO_RATE) return false;
  return sample >> 4 <= MOST_CHANNELS_CODE && ((sample >> 1) & 7) !== RESERVED_BITS_CODE && (sample & 1) === 0;
}

/** Length for an invalid number; longer than the bytes that are read, so that no header ends there. */
const NO_NUMBER = 2 ** 29;

/**
 * Length of a frame or sample number by its first byte. It is encoded like UTF-8, but with up to seven bytes (§9.1.5).
 */
const NUMBER_BYTES = Array.from({ length: 256 }, (_, first) => {
  const ones = Math.clz32(~(first << 24));
  return ones === 1 || ones === 8 ? NO_NUMBER : Math.max(1, ones);
});

function numberAt(bytes: Buffer, start: number, end: number): number {
  return end - start === 1 ? bytes[start]! : bytes[start]! * 256 + bytes[start + 1]!;
}

function hasValidCrc(bytes: Buffer, at: number, end: number): boolean {
  let crc = 0;
  for (let next = at; next < end; next += 1) crc = CRC_8[crc ^ bytes[next]!]!;
  return crc === bytes[end];
}
