import type { MediaBytes } from '../media-bytes';
import { AAC_RATES } from './aac/configuration';
import { FramePlaces } from './frame-places';
import { longestMp3, type MediaLength } from '../media-length';
import { tagBytes } from './id3';
import { Window } from './window';

/** Longest ADTS frame: its size has thirteen bits. */
const LONGEST_FRAME = 8_191;
const HEAD_BYTES = 8;
/** How far from the start the first frame may be, after tags of the file. */
const LONGEST_SEARCH = 64 * 1024;
/** Most frames, and offsets that merely look like one, that are read: three hours of AAC have 600,000 frames. */
const MOST_PLACES = 600_000;

const SAMPLE_RATES = [44_100, 48_000, 32_000];
const BITRATES_1: Readonly<Record<number, readonly number[]>> = {
  1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
};
const BITRATES_2: Readonly<Record<number, readonly number[]>> = {
  1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  3: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
const MPEG_1 = 3;
/** Divisor of the sample rate by version: 2.5, reserved, 2, 1. */
const RATE_DIVISORS = [4, Number.POSITIVE_INFINITY, 2, 1];

/** How to read frames of one kind in a buffer. */
interface FrameKind {
  /** Returns the size of the frame that begins at an offset; 0 if none does. */
  bytesOf(bytes: Buffer, at: number): number;
  secondsOf(bytes: Buffer, at: number): number;
  /** Returns the longest time that this many bytes may play as frames of other kinds; null if nothing limits it. */
  longestOf(bytes: number): number | null;
  /**
   * Returns whether a frame header is so similar to the first one that it counts without a frame before or after it.
   */
  isLike(bytes: Buffer, at: number, first: Buffer | null): boolean;
}

/** Returns the length of an MP3 by counting all of its frames, because the length that a header states may be wrong. */
export function mp3Length(audio: MediaBytes): MediaLength | null {
  return allFrames(audio, MPEG);
}

/** Returns the length of AAC in ADTS frames (ISO 14496-3, 1.A.2.2). */
export function adtsLength(audio: MediaBytes): MediaLength | null {
  const placesByRate = AAC_RATES.map(() => new FramePlaces());
  const length = allFrames(audio, ADTS, (bytes, at, position) => {
    const places = placesByRate[rateCodeOf(bytes, at)]!;
    const headBytes = bytes[at + 1]! & WITHOUT_CHECKSUM ? 7 : 9;
    // Decoders differ on frames that claim to hold several blocks.
    if (blocksOf(bytes, at) > 1) places.giveUp();
    else places.add(position + headBytes, Math.max(0, adtsBytes(bytes, at) - headBytes));
  });
  const areBlocks = length !== null && placesByRate.every((places, rateCode) => places.areBlocks(audio, rateCode));
  return length === null || areBlocks ? length : { ...length, longest: null };
}

type TakeFrame = (bytes: Buffer, at: number, position: number) => void;

function allFrames(audio: MediaBytes, kind: FrameKind, take?: TakeFrame): MediaLength | null {
  const tag = tagBytes(audio.slice(0, 10));
  const start = firstFrame(audio, tag ?? 0, kind);
  if (start === null) return null;
  const { seconds, otherBytes, areAlike, isWhole } = framesFrom(audio, start, kind, take);
  if (seconds === 0) return null;
  if (tag === null || !isWhole || mayBeOther(audio, start - tag + otherBytes)) return lengthOf(seconds, null);
  // Decoders that begin at another offset, or accept only frames of one kind, may find frames inside frames.
  const isPlain = start === tag && areAlike;
  return lengthOf(seconds, isPlain ? seconds + longestMp3(otherBytes) : kind.longestOf(audio.length));
}

function lengthOf(seconds: number, longest: number | null): MediaLength {
  return { seconds, longest, hasPictures: false };
}

/** Returns whether decoders may take a file for one of another format. */
function mayBeOther(audio: MediaBytes, otherBytes: number): boolean {
  return otherBytes > audio.length * MOST_OTHER || isOtherFormat(audio);
}

/** Largest share of a file that may be bytes outside frames. */
const MOST_OTHER = 0.1;

interface FoundFrames {
  readonly seconds: number;
  /** Between and behind frames. */
  readonly otherBytes: number;
  readonly areAlike: boolean;
  readonly isWhole: boolean;
}

/** Counts frames up to the end of the file, because decoders continue after bytes that are not a frame. */
function framesFrom(audio: MediaBytes, start: number, kind: FrameKind, take?: TakeFrame): FoundFrames {
  const first = Buffer.from(audio.slice(start, start + HEAD_BYTES));
  const window = new Window(audio, LONGEST_FRAME + HEAD_BYTES);
  let [seconds, otherBytes, position] = [0, 0, start];
  let areAlike = true;
  let isFrame = true;
  for (let places = 0; position < audio.length && places < MOST_PLACES; places += 1) {
    const at = window.offsetOf(position);
    const bytes = kind.bytesOf(window.bytes, at);
    isFrame = bytes > 0 && (isFrame || standsAlone(window.bytes, at, first, kind));
    if (isFrame) {
      take?.(window.bytes, at, position);
      areAlike &&= kind.isLike(window.bytes, at, first);
      seconds += kind.secondsOf(window.bytes, at);
      position += bytes;
    } else {
      const skipped = nextSync(window.bytes, at + 1) - at;
      otherBytes += skipped;
      position += skipped;
    }
  }
  return { seconds, otherBytes, areAlike, isWhole: position >= audio.length };
}

/** Returns the next offset at which a frame header may begin, or the end of the bytes. */
function nextSync(bytes: Buffer, from: number): number {
  if (bytes[from] === SYNC) return from;
  const found = bytes.indexOf(SYNC, from);
  return found === -1 ? Math.max(from, bytes.length) : found;
}

/** Returns whether a frame header after other bytes really begins a frame. */
function standsAlone(bytes: Buffer, at: number, first: Buffer, kind: FrameKind): boolean {
  return kind.isLike(bytes, at, first) || kind.bytesOf(bytes, at + kind.bytesOf(bytes, at)) > 0;
}

/** First bytes of other formats, which decoders also look for after a tag. */
const OTHER_HEADS: readonly string[] = ['OggS', 'fLaC', 'RIFF', 'ftyp', '\x1a\x45\xdf\xa3'];

function isOtherFormat(audio: MediaBytes): boolean {
  const start = tagBytes(audio.slice(0, 10)) ?? 0;
  const head = audio.slice(start, start + 8).toString('latin1');
  return OTHER_HEADS.some((other) => head.includes(other));
}

/** @param start the end of the file's tag */
function firstFrame(audio: MediaBytes, start: number, kind: FrameKind): number | null {
  const area = audio.slice(start, start + LONGEST_SEARCH);
  if (kind.bytesOf(area, 0) > 0 && kind.isLike(area, 0, null)) return start;
  audio.countPlaces(area.length);
  for (let at = area.indexOf(SYNC); at !== -1; at = area.indexOf(SYNC, at + 1)) {
    const bytes = kind.bytesOf(area, at);
    if (bytes === 0) continue;
    const next = audio.slice(start + at + bytes, start + at + bytes + HEAD_BYTES);
    // A frame is followed by another frame or by the end of the file.
    if (next.length === 0 || kind.bytesOf(next, 0) > 0) return start + at;
  }
  return null;
}

const SYNC = 0xff;

const MPEG: FrameKind = {
  bytesOf: (bytes, at) =>
    bytes.length < at + 4 || bytes[at] !== SYNC || bytes[at + 1]! < FIRST_KIND ? 0 : MPEG_BYTES[codesAt(bytes, at)]!,
  secondsOf: (bytes, at) => MPEG_SECONDS[codesAt(bytes, at)]!,
  longestOf: longestMp3,
  // ADTS headers are short: other data, such as a picture in a tag at the end, looks like one every few kilobytes.
  isLike: (bytes, at, first) =>
    first !== null && (bytes[at + 1]! ^ first[1]!) < 2 && ((bytes[at + 2]! ^ first[2]!) & 0x0c) === 0,
};

/** The second byte of a frame header begins with three set bits. */
const FIRST_KIND = 0xe0;
/** Number of combinations of the second and third byte. */
const CODES = 32 * 256;

function codesAt(bytes: Buffer, at: number): number {
  return ((bytes[at + 1]! & 31) << 8) | bytes[at + 2]!;
}

/**
 * Frame sizes by the second and third byte of a header. A table, because hostile files have a header every three bytes.
 */
const MPEG_BYTES = Uint16Array.from({ length: CODES }, (_, codes) => mpegBytes(codes >> 8, codes & 0xff));
const MPEG_SECONDS = Float64Array.from({ length: CODES }, (_, codes) => {
  const rate = mpegRate(codes >> 8, codes & 0xff);
  return rate === 0 ? 0 : mpegSamples(codes >> 8) / rate;
});

/** Returns the size of a frame by the second and third byte of its header; 0 if they are invalid. */
function mpegBytes(kind: number, rates: number): number {
  const sampleRate = mpegRate(kind, rates);
  const layer = layerOf(kind);
  const bitrate = (versionOf(kind) === MPEG_1 ? BITRATES_1 : BITRATES_2)[layer]?.[rates >> 4];
  if (sampleRate === 0 || !bitrate) return 0;
  const slot = layer === 1 ? 4 : 1;
  const padding = (rates >> 1) & 1;
  return Math.floor((mpegSamples(kind) / 8 / slot) * ((bitrate * 1_000) / sampleRate) + padding) * slot;
}

/** Returns the MPEG version from the second byte of a header. */
function versionOf(kind: number): number {
  return (kind >> 3) & 3;
}

function layerOf(kind: number): number {
  return 4 - ((kind >> 1) & 3);
}

/** Zero for a rate that is none. */
function mpegRate(kind: number, rates: number): number {
  return (SAMPLE_RATES[(rates >> 2) & 3] ?? 0) / RATE_DIVISORS[versionOf(kind)]!;
}

function mpegSamples(kind: number): number {
  const layer = layerOf(kind);
  if (layer === 1) return 384;
  return layer === 3 && versionOf(kind) !== MPEG_1 ? 576 : 1_152;
}

const ADTS: FrameKind = {
  bytesOf: adtsBytes,
  secondsOf: (bytes, at) => (1_024 * blocksOf(bytes, at)) / AAC_RATES[rateCodeOf(bytes, at)]!,
  longestOf: () => null,
  isLike: () => true,
};

const WITHOUT_CHECKSUM = 1;

function adtsBytes(bytes: Buffer, at: number): number {
  if (bytes.length < at + 7 || bytes[at] !== SYNC || (bytes[at + 1]! & 0xf6) !== 0xf0) return 0;
  const size = ((bytes[at + 3]! & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5);
  return rateCodeOf(bytes, at) >= AAC_RATES.length || size < 7 ? 0 : size;
}

function rateCodeOf(bytes: Buffer, at: number): number {
  return (bytes[at + 2]! >> 2) & 15;
}

function blocksOf(bytes: Buffer, at: number): number {
  return (bytes[at + 6]! & 3) + 1;
}
