import type { MediaBytes } from '../media-bytes';
import { longestMp3, UNKNOWN_LENGTH, type MediaLength } from '../media-length';

/** No recorder writes a file of so many chunks. */
const MOST_CHUNKS = 1_000;
const HEAD = 'fmt ';
/** What writers put for the size of `data` before they know it. Decoders play to the end of the file then. */
const UNKNOWN_SIZES: readonly number[] = [0, 0xffff_ffff];

/**
 * Returns the length of a WAVE file: of all its `data` chunks, because decoders play each of them.
 *
 * Returns `broken` if the file has no samples, or claims more than there are.
 */
export function waveLength(audio: MediaBytes): MediaLength | 'broken' {
  let position = 12;
  let dataBytes = 0;
  let format: WaveFormat = { bytesPerSecond: Number.POSITIVE_INFINITY, isPlain: true, longestByte: 0 };
  for (let count = 0; count < MOST_CHUNKS; count += 1) {
    const head = audio.slice(position, position + 8);
    if (head.length < 8) return lengthOf(audio, dataBytes, format);
    const name = head.toString('latin1', 0, 4);
    const size = head.readUInt32LE(4);
    position += 8;
    if (name === 'data') {
      if (format.bytesPerSecond === Number.POSITIVE_INFINITY) return 'broken';
      const left = audio.length - position;
      if (holdsBursts(audio, position)) format = { ...format, isPlain: false, longestByte: null };
      if (UNKNOWN_SIZES.includes(size)) return lengthOf(audio, dataBytes + left, openFormat(format, audio, position));
      if (size > left) return 'broken';
      dataBytes += size;
    }
    if (name === HEAD) format = slower(format, formatOf(audio.slice(position, position + Math.min(size, HEAD_BYTES))));
    // Chunks begin at even positions.
    position += size + (size % 2);
  }
  return 'broken';
}

/** How AC-3 and other codecs begin in what looks like PCM (IEC 61937). */
const BURST = Buffer.from('72f81f4e', 'hex');
/** More than decoders look at. */
const BURST_BYTES = 128 * 1024;

function holdsBursts(audio: MediaBytes, start: number): boolean {
  return audio.slice(start, start + BURST_BYTES).includes(BURST);
}

const SEARCHED_BYTES = 1024 * 1024;

/** Decoders that take a chunk of size 0 for an empty one may find another head behind it. */
function openFormat(format: WaveFormat, audio: MediaBytes, start: number): WaveFormat {
  for (let from = start; from < audio.length; from += SEARCHED_BYTES) {
    const hasHead = audio.slice(from, from + SEARCHED_BYTES + HEAD.length - 1).includes(HEAD);
    if (hasHead) return { ...format, isPlain: false, longestByte: null };
  }
  return format;
}

interface WaveFormat {
  readonly bytesPerSecond: number;
  /** Whether its bytes are samples of a known size, so that their number is its length. */
  readonly isPlain: boolean;
  /** Seconds that a byte may play at most; null where nothing bounds them. */
  readonly longestByte: number | null;
}

function lengthOf(audio: MediaBytes, dataBytes: number, format: WaveFormat): MediaLength | 'broken' {
  if (dataBytes === 0 || (format.isPlain && format.bytesPerSecond === 0)) return 'broken';
  // FFmpeg states no rate for MP3 in WAVE.
  if (format.bytesPerSecond === 0) return UNKNOWN_LENGTH;
  const seconds = dataBytes / format.bytesPerSecond;
  const { isPlain, longestByte } = format;
  const most = longestByte === null ? null : Math.max(seconds, audio.length * longestByte);
  return { seconds, longest: isPlain ? seconds : most, hasPictures: false };
}

/** Decoders differ in which of several heads they believe; the slowest makes the longest sound. */
function slower(one: WaveFormat, other: WaveFormat): WaveFormat {
  return {
    bytesPerSecond: Math.min(one.bytesPerSecond, other.bytesPerSecond),
    isPlain: one.isPlain && other.isPlain,
    longestByte:
      one.longestByte === null || other.longestByte === null ? null : Math.max(one.longestByte, other.longestByte),
  };
}

/** Of the extensible format, which is the longest. */
const HEAD_BYTES = 40;
const EXTENSIBLE = 0xfffe;
const EXTENSION_BYTES = 22;
/** How the identifier of a codec ends that also has a number. */
const NUMBERED = Buffer.from('000000001000800000aa00389b71', 'hex');
/** The bytes that a sample can have, by codec: PCM, float, A-law and mu-law. */
const SAMPLE_BYTES: ReadonlyMap<number, readonly number[]> = new Map([
  [1, [1, 2, 3, 4, 8]],
  [3, [4, 8]],
  [6, [1]],
  [7, [1]],
]);
const EIGHT_BITS: readonly number[] = [6, 7];
/** Codecs with at least a bit for each sample: kinds of ADPCM, GSM, TrueSpeech. */
const BIT_A_SAMPLE: readonly number[] = [0x02, 0x11, 0x14, 0x22, 0x31, 0x40, 0x45, 0x64];
const MP3 = 0x55;
/** No compressed codec of WAVE files needs more bytes for a second of sound. */
const MOST_COMPRESSED_BYTES = 125_000;

/** Bytes per second are counted from channels and bits: decoders ignore the block size that a head names. */
function formatOf(head: Buffer): WaveFormat {
  if (head.length < 16) return { bytesPerSecond: 0, isPlain: false, longestByte: null };
  const codec = codecOf(head);
  const sampleBytes = EIGHT_BITS.includes(codec) ? 1 : Math.ceil(bitsOf(head) / 8);
  if (SAMPLE_BYTES.get(codec)?.includes(sampleBytes) === true) {
    return { bytesPerSecond: head.readUInt32LE(4) * head.readUInt16LE(2) * sampleBytes, isPlain: true, longestByte: 0 };
  }
  const bytesPerSecond = Math.min(head.readUInt32LE(8), MOST_COMPRESSED_BYTES);
  return { bytesPerSecond, isPlain: false, longestByte: longestByteOf(codec, head.readUInt32LE(4)) };
}

function longestByteOf(codec: number, samplesPerSecond: number): number | null {
  if (codec === MP3) return longestMp3(1);
  return BIT_A_SAMPLE.includes(codec) && samplesPerSecond > 0 ? 8 / samplesPerSecond : null;
}

/** The extensible format names its codec at its end; one that has no end there is none that is known. */
function codecOf(head: Buffer): number {
  const codec = head.readUInt16LE(0);
  if (codec !== EXTENSIBLE || !isExtended(head)) return codec;
  return head.subarray(26).equals(NUMBERED) ? head.readUInt16LE(24) : EXTENSIBLE;
}

/** Some decoders go by the bits of a sample, some by how many of them are used. */
function bitsOf(head: Buffer): number {
  const bits = head.readUInt16LE(14);
  const used = isExtended(head) && head.readUInt16LE(0) === EXTENSIBLE ? head.readUInt16LE(18) : 0;
  return used === 0 ? bits : Math.min(bits, used);
}

function isExtended(head: Buffer): boolean {
  return head.length === HEAD_BYTES && head.readUInt16LE(16) >= EXTENSION_BYTES;
}
