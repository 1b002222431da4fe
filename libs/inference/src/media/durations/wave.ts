import type { MediaBytes } from '../media-bytes';
import { longestMp3, UNKNOWN_LENGTH, type MediaLength } from '../media-length';

/** Most chunks of a file; no recorder writes so many. */
const MOST_CHUNKS = 1_000;
const HEAD = 'fmt ';
/** Values that writers put for the size of `data` while it is unknown. Decoders then play to the end of the file. */
const UNKNOWN_SIZES: readonly number[] = [0, 0xffff_ffff];

/**
 * Returns the length of a WAVE file: the sum of all its `data` chunks, because decoders play each of them.
 *
 * Returns `broken` if the file has no samples, or claims more samples than it contains.
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

/** First bytes of AC-3 and other codecs inside data that is declared as PCM (IEC 61937). */
const BURST = Buffer.from('72f81f4e', 'hex');
/** More bytes than decoders search. */
const BURST_BYTES = 128 * 1024;

function holdsBursts(audio: MediaBytes, start: number): boolean {
  return audio.slice(start, start + BURST_BYTES).includes(BURST);
}

const SEARCHED_BYTES = 1024 * 1024;

/** Handles a `data` chunk of size 0. Decoders that treat it as empty may find another header after it. */
function openFormat(format: WaveFormat, audio: MediaBytes, start: number): WaveFormat {
  for (let from = start; from < audio.length; from += SEARCHED_BYTES) {
    const hasHead = audio.slice(from, from + SEARCHED_BYTES + HEAD.length - 1).includes(HEAD);
    if (hasHead) return { ...format, isPlain: false, longestByte: null };
  }
  return format;
}

interface WaveFormat {
  readonly bytesPerSecond: number;
  /** True if all samples have the same known size, so that their number gives the length. */
  readonly isPlain: boolean;
  /** Most seconds that one byte may play; null if nothing limits them. */
  readonly longestByte: number | null;
}

function lengthOf(audio: MediaBytes, dataBytes: number, format: WaveFormat): MediaLength | 'broken' {
  if (dataBytes === 0 || (format.isPlain && format.bytesPerSecond === 0)) return 'broken';
  // FFmpeg writes no byte rate for MP3 in WAVE.
  if (format.bytesPerSecond === 0) return UNKNOWN_LENGTH;
  const seconds = dataBytes / format.bytesPerSecond;
  const { isPlain, longestByte } = format;
  const most = longestByte === null ? null : Math.max(seconds, audio.length * longestByte);
  return { seconds, longest: isPlain ? seconds : most, hasPictures: false };
}

/** Combines two headers. Decoders differ in which of several they use; the lower byte rate gives the longer sound. */
function slower(one: WaveFormat, other: WaveFormat): WaveFormat {
  return {
    bytesPerSecond: Math.min(one.bytesPerSecond, other.bytesPerSecond),
    isPlain: one.isPlain && other.isPlain,
    longestByte:
      one.longestByte === null || other.longestByte === null ? null : Math.max(one.longestByte, other.longestByte),
  };
}

/** Bytes of the longest format header, the extensible one. */
const HEAD_BYTES = 40;
const EXTENSIBLE = 0xfffe;
const EXTENSION_BYTES = 22;
/** Last bytes of a codec's GUID if the codec also has a number. */
const NUMBERED = Buffer.from('000000001000800000aa00389b71', 'hex');
/** Possible bytes per sample by codec: PCM, float, A-law and mu-law. */
const SAMPLE_BYTES: ReadonlyMap<number, readonly number[]> = new Map([
  [1, [1, 2, 3, 4, 8]],
  [3, [4, 8]],
  [6, [1]],
  [7, [1]],
]);
const EIGHT_BITS: readonly number[] = [6, 7];
/** Codecs that use at least one bit per sample: kinds of ADPCM, GSM, TrueSpeech. */
const BIT_A_SAMPLE: readonly number[] = [0x02, 0x11, 0x14, 0x22, 0x31, 0x40, 0x45, 0x64];
const MP3 = 0x55;
/** Most bytes that any compressed codec of WAVE files needs for a second of sound. */
const MOST_COMPRESSED_BYTES = 125_000;

/** Computes the bytes per second from rate, channels and bits: decoders ignore the block size in the header. */
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

/** Returns the codec number. The extensible format has it at its end; a format without this end is unknown. */
function codecOf(head: Buffer): number {
  const codec = head.readUInt16LE(0);
  if (codec !== EXTENSIBLE || !isExtended(head)) return codec;
  return head.subarray(26).equals(NUMBERED) ? head.readUInt16LE(24) : EXTENSIBLE;
}

/** Returns the smaller of two sizes: some decoders use the bits of a sample, some the number of valid bits. */
function bitsOf(head: Buffer): number {
  const bits = head.readUInt16LE(14);
  const used = isExtended(head) && head.readUInt16LE(0) === EXTENSIBLE ? head.readUInt16LE(18) : 0;
  return used === 0 ? bits : Math.min(bits, used);
}

function isExtended(head: Buffer): boolean {
  return head.length === HEAD_BYTES && head.readUInt16LE(16) >= EXTENSION_BYTES;
}
