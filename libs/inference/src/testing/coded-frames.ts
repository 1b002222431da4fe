import { checksum } from './checksum';

/** Frames of codecs as decoders play them: the shortest that last the longest. */

export function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
}

export function repeated(one: Buffer, count: number): Buffer[] {
  return Array<Buffer>(count).fill(one);
}

export function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, at) => bytes.writeUInt16BE(value & 0xffff, at * 2));
  return bytes;
}

/** A block of AAC with one channel of silence, as FFmpeg's encoder writes it: 1,024 samples. */
export const SILENT_AAC = hex('00c800802380');
/** Codes of rates of AAC. */
const AAC_RATES = { 96_000: 0, 16_000: 8, 7_350: 12 } as const;
type AacRate = keyof typeof AAC_RATES;

/** @param covered bytes behind the block that are part of the frame too */
export function adtsFrame(rate: AacRate, covered = 0): Buffer {
  const size = SILENT_AAC.length + 7 + covered;
  const head = [0xff, 0xf1, 0x40 | (AAC_RATES[rate] << 2), 0x40 | (size >> 11), (size >> 3) & 0xff];
  return Buffer.concat([Buffer.from([...head, ((size & 7) << 5) | 0x1f, 0xfc]), SILENT_AAC]);
}

/** The configuration of AAC LC with one channel. */
export function aacConfiguration(rate: AacRate): Buffer {
  return numbers((2 << 11) | (AAC_RATES[rate] << 7) | (1 << 3));
}

/** MPEG 2.5, layer 3, 8 kbit/s at 8 kHz: 72 ms in 72 bytes. */
export const MP3_FRAME = Buffer.concat([hex('ffe318c4'), Buffer.alloc(68)]);

/** Frames of layer 2 with frames of layer 3 inside. */
export function framesWithinFrames(count: number): Buffer {
  const outer = [
    { bytes: 1_728, head: hex('fffde8c4') },
    { bytes: 1_152, head: hex('fffde4c4') },
  ] as const;
  return Buffer.concat(
    Array.from({ length: count }, (_, index) => {
      const { bytes, head } = outer[index % 2]!;
      const inner = Buffer.concat(repeated(MP3_FRAME, bytes / MP3_FRAME.length));
      const shifted = Buffer.concat([inner.subarray(32), inner.subarray(0, 32)]);
      head.copy(shifted);
      return shifted;
    }),
  );
}

const LONGEST_FLAC = 65_535;

/** A frame of FLAC with one channel of silence, which states its own rate. */
export function flacFrame(rate: number, number = 0, samples = LONGEST_FLAC): Buffer {
  const head = Buffer.concat([hex('fff87d08'), Buffer.from([number & 0x7f]), numbers(samples - 1, rate)]);
  const body = Buffer.concat([head, Buffer.from([checksum(head, 0x07, 8), 0, 0, 0])]);
  return Buffer.concat([body, numbers(checksum(body, 0x8005, 16))]);
}

export function flacInfo(rate: number): Buffer {
  const info = Buffer.alloc(34);
  info.writeUInt16BE(16, 0);
  info.writeUInt16BE(LONGEST_FLAC, 2);
  info.writeUIntBE(rate << 4, 10, 3);
  info[13] = 15 << 4;
  return info;
}

export function flacHead(rate: number, mark = 0x80): Buffer {
  return Buffer.concat([Buffer.from([mark, 0, 0, 34]), flacInfo(rate)]);
}

/** AC-3 of 32 kHz, encoded by FFmpeg: 48 ms of one channel in 192 bytes. */
const AC3 = hex(`
  0b77f6d480402f842903fe757cf9f3e7cf9f3e7cf9f3e7cf9f3e7cf9f3e7cf8cbfbe90000036b5ad6b5ad7cf9f3e6db6db6db6db6db6db6db6db
  68000001b5ad6b5ad6be7cf9f36db6db6db6db6db6db6db6db4000000dad6b5ad6b5f3e7cf9b6db6db6db6db6db6db6db6da0000006d6b5ad6b5
  af9f3e7cdb6db6db6db6db6db6db6db6d00000036b5ad6b5ad7cf9f3e6db6db6db6db6db6db6db6db68000001b5ad6b5ad6be7cf9f36db6db6db
  6db6db6db6db6db00000000000000000d04a`);

/** The same in version 10, which has a quarter of the rate. */
export const SLOW_AC3 = Buffer.from(AC3);
SLOW_AC3[5] = (10 << 3) | (SLOW_AC3[5]! & 7);

/** AMR of 4.75 kbit/s: 20 ms. */
export const AMR_FRAME = Buffer.concat([Buffer.from([0x04]), Buffer.alloc(12)]);

/** A gray picture of 16 × 16 pixels. */
export const JPEG_PICTURE = hex(`
  ffd8 ffe000104a46494600010100000100010000
  ffdb0043 00 ${'ff'.repeat(64)}
  ffc0000b080010001001011100
  ffc4001400 01${'00'.repeat(16)}
  ffc4001410 01${'00'.repeat(16)}
  ffda0008010100003f00 00 ffd9`);

/** A burst of frames of AC-3 in the samples of PCM (IEC 61937). */
export function spdifBurst(frames: number): Buffer {
  const bytes = Buffer.alloc(6_144);
  const content = Buffer.concat(repeated(SLOW_AC3, frames));
  bytes.set([0x72, 0xf8, 0x1f, 0x4e, 1, 0]);
  bytes.writeUInt16LE(content.length * 8, 6);
  Buffer.from(content).swap16().copy(bytes, 8);
  return bytes;
}
