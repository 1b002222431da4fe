import type { MediaBytes } from '../media-bytes';
import { AAC_RATES } from './aac-configuration';
import { longestMp3, type MediaLength } from '../media-length';
import { tagBytes } from './id3';
import { Window } from './window';

/** A frame of ADTS has thirteen bits for its size. */
const LONGEST_FRAME = 8_191;
const HEAD_BYTES = 8;
/** How far the first frame may be from the start, behind tags of the file. */
const LONGEST_SEARCH = 64 * 1024;
/** Frames, and places that begin like one and are none. More are not looked at: three hours of AAC have 600,000. */
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
/** By version: 2.5, none, 2, 1. */
const RATE_DIVISORS = [4, Number.POSITIVE_INFINITY, 2, 1];

/** How frames of one kind are read at a place of a buffer. */
interface FrameKind {
  /** Returns the size of the frame that begins there; 0 where none does. */
  bytesOf(bytes: Buffer, at: number): number;
  secondsOf(bytes: Buffer, at: number): number;
  /** Whether a head needs no frame before or behind it, because of its likeness to the first head if there is one. */
  isLike(bytes: Buffer, at: number, first: Buffer | null): boolean;
}

/** The length of an MP3, by all of its frames: what a header says of them may be wrong. */
export function mp3Length(audio: MediaBytes): MediaLength | null {
  return allFrames(audio, MPEG);
}

/** The length of AAC in ADTS frames (ISO 14496-3, 1.A.2.2). */
export function adtsLength(audio: MediaBytes): MediaLength | null {
  return allFrames(audio, ADTS);
}

/** Decoders find the next frame behind what is none, so frames are counted up to the end. */
function allFrames(audio: MediaBytes, kind: FrameKind): MediaLength | null {
  const start = firstFrame(audio, kind);
  if (start === null) return null;
  const first = Buffer.from(audio.slice(start, start + HEAD_BYTES));
  const window = new Window(audio, LONGEST_FRAME + HEAD_BYTES);
  let otherBytes = start - tagBytes(audio.slice(0, 10));
  let seconds = 0;
  let isFrame = true;
  let position = start;
  for (let places = 0; position < audio.length && places < MOST_PLACES; places += 1) {
    const at = window.offsetOf(position);
    const bytes = kind.bytesOf(window.bytes, at);
    isFrame = bytes > 0 && (isFrame || standsAlone(window.bytes, at, first, kind));
    if (isFrame) {
      seconds += kind.secondsOf(window.bytes, at);
      position += bytes;
    } else {
      const skipped = nextSync(window.bytes, at + 1) - at;
      otherBytes += skipped;
      position += skipped;
    }
  }
  if (seconds === 0) return null;
  const isWhole = position >= audio.length;
  return { seconds, longest: isWhole ? longestWith(seconds, otherBytes, audio) : null, hasPictures: false };
}

/** Null where most of a file is no frames: a decoder may take it for another format. */
function longestWith(seconds: number, otherBytes: number, audio: MediaBytes): number | null {
  return otherBytes > audio.length / 2 || isOtherFormat(audio) ? null : seconds + longestMp3(otherBytes);
}

/** Returns where the next head may begin, or where the bytes end. */
function nextSync(bytes: Buffer, from: number): number {
  if (bytes[from] === SYNC) return from;
  const found = bytes.indexOf(SYNC, from);
  return found === -1 ? Math.max(from, bytes.length) : found;
}

/** Whether a head behind what is no frame is one of a frame. */
function standsAlone(bytes: Buffer, at: number, first: Buffer, kind: FrameKind): boolean {
  return kind.isLike(bytes, at, first) || kind.bytesOf(bytes, at + kind.bytesOf(bytes, at)) > 0;
}

/** How other formats begin, which decoders look for behind a tag too. */
const OTHER_HEADS: readonly string[] = ['OggS', 'fLaC', 'RIFF', 'ftyp', '\x1a\x45\xdf\xa3'];

function isOtherFormat(audio: MediaBytes): boolean {
  const start = tagBytes(audio.slice(0, 10));
  const head = audio.slice(start, start + 8).toString('latin1');
  return OTHER_HEADS.some((other) => head.includes(other));
}

function firstFrame(audio: MediaBytes, kind: FrameKind): number | null {
  const start = tagBytes(audio.slice(0, 10));
  const area = audio.slice(start, start + LONGEST_SEARCH);
  if (kind.bytesOf(area, 0) > 0 && kind.isLike(area, 0, null)) return start;
  audio.countPlaces(area.length);
  for (let at = area.indexOf(SYNC); at !== -1; at = area.indexOf(SYNC, at + 1)) {
    const bytes = kind.bytesOf(area, at);
    if (bytes === 0) continue;
    const next = audio.slice(start + at + bytes, start + at + bytes + HEAD_BYTES);
    // A frame is followed by another, or by nothing at all.
    if (next.length === 0 || kind.bytesOf(next, 0) > 0) return start + at;
  }
  return null;
}

const SYNC = 0xff;

const MPEG: FrameKind = {
  bytesOf: (bytes, at) =>
    bytes.length < at + 4 || bytes[at] !== SYNC || bytes[at + 1]! < FIRST_KIND ? 0 : MPEG_BYTES[codesAt(bytes, at)]!,
  secondsOf: (bytes, at) => MPEG_SECONDS[codesAt(bytes, at)]!,
  // Its heads are short: what is none, such as a picture in a tag at the end, looks like one every few kilobytes.
  isLike: (bytes, at, first) =>
    first !== null && (bytes[at + 1]! ^ first[1]!) < 2 && ((bytes[at + 2]! ^ first[2]!) & 0x0c) === 0,
};

/** The second byte of a head begins with three set bits. */
const FIRST_KIND = 0xe0;
/** All that its second and third byte can be. */
const CODES = 32 * 256;

function codesAt(bytes: Buffer, at: number): number {
  return ((bytes[at + 1]! & 31) << 8) | bytes[at + 2]!;
}

/** By the codes of a head: hostile files have a head at every third byte. */
const MPEG_BYTES = Uint16Array.from({ length: CODES }, (_, codes) => mpegBytes(codes >> 8, codes & 0xff));
const MPEG_SECONDS = Float64Array.from({ length: CODES }, (_, codes) => {
  const rate = mpegRate(codes >> 8, codes & 0xff);
  return rate === 0 ? 0 : mpegSamples(codes >> 8) / rate;
});

/** Returns the size of a frame by the second and third byte of its head; 0 for what is none. */
function mpegBytes(kind: number, rates: number): number {
  const sampleRate = mpegRate(kind, rates);
  const layer = layerOf(kind);
  const bitrate = (versionOf(kind) === MPEG_1 ? BITRATES_1 : BITRATES_2)[layer]?.[rates >> 4];
  if (sampleRate === 0 || !bitrate) return 0;
  const slot = layer === 1 ? 4 : 1;
  const padding = (rates >> 1) & 1;
  return Math.floor((mpegSamples(kind) / 8 / slot) * ((bitrate * 1_000) / sampleRate) + padding) * slot;
}

/** By the second byte of a head. */
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
  secondsOf: (bytes, at) => (1_024 * ((bytes[at + 6]! & 3) + 1)) / adtsRate(bytes, at)!,
  isLike: () => true,
};

function adtsBytes(bytes: Buffer, at: number): number {
  if (bytes.length < at + 7 || bytes[at] !== SYNC || (bytes[at + 1]! & 0xf6) !== 0xf0) return 0;
  const size = ((bytes[at + 3]! & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5);
  return adtsRate(bytes, at) === undefined || size < 7 ? 0 : size;
}

function adtsRate(bytes: Buffer, at: number): number | undefined {
  return AAC_RATES[(bytes[at + 2]! >> 2) & 15];
}
