import type { MediaBytes } from './media-bytes';

export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

const HEAD_BYTES = 40;
/** Bytes to search for the size of a JPEG. Cameras put a small preview picture and their settings before it. */
const JPEG_HEADS = [32 * 1024, 512 * 1024];
const MOST_GIF_HEAD = 64 * 1024;
/** Largest edge of a picture, above what any provider accepts; a larger size is not trusted. */
const LONGEST_EDGE = 65_535;

/** Returns the size of a PNG, JPEG, GIF or WebP picture in pixels, without decoding it; null for other data. */
export function pictureSize(picture: MediaBytes): PictureSize | null {
  const head = picture.slice(0, HEAD_BYTES);
  const size = pngSize(head) ?? webpSize(head) ?? gifSize(picture, head) ?? jpegSize(picture, head);
  if (size === null) return null;
  const isSize = ({ width, height }: PictureSize): boolean =>
    Math.min(width, height) > 0 && Math.max(width, height) <= LONGEST_EDGE;
  return isSize(size) ? size : null;
}

/** Reads the size of a PNG from its first chunk (ISO/IEC 15948 §11.2.2). */
function pngSize(head: Buffer): PictureSize | null {
  const isPng = head.length >= 24 && head.readUInt32BE(0) === 0x89504e47 && head.toString('latin1', 12, 16) === 'IHDR';
  return isPng ? { width: head.readUInt32BE(16), height: head.readUInt32BE(20) } : null;
}

/** Reads the size of a WebP picture (RFC 9649): lossy, lossless, or extended, whose canvas counts. */
function webpSize(head: Buffer): PictureSize | null {
  const isWebp = /^RIFF[^]{4}WEBP/.test(head.toString('latin1', 0, 12));
  if (head.length < 30 || !isWebp) return null;
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = head.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
}

/** Some decoders use the size of the screen, some that of the first frame: the larger one counts. */
function gifSize(picture: MediaBytes, head: Buffer): PictureSize | null {
  if (head.length < 13 || !/^GIF8[79]a$/.test(head.toString('latin1', 0, 6))) return null;
  const screen = { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
  const bytes = picture.slice(0, MOST_GIF_HEAD);
  const flags = head[10]!;
  let at = 13 + ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  while (bytes[at] === 0x21) {
    at += 2;
    while (at < bytes.length && bytes[at] !== 0) at += bytes[at]! + 1;
    at += 1;
  }
  if (bytes[at] !== 0x2c || at + 9 > bytes.length) return null;
  const right = bytes.readUInt16LE(at + 1) + bytes.readUInt16LE(at + 5);
  const bottom = bytes.readUInt16LE(at + 3) + bytes.readUInt16LE(at + 7);
  return { width: Math.max(screen.width, right), height: Math.max(screen.height, bottom) };
}

const START_OF_SCAN = 0xda;
/** Lowest code of a marker. After lower codes, some readers treat the next two bytes as a length and others do not. */
const FIRST_MARKER = 0xc0;
/** Markers of frames; the three in between are tables (ITU-T T.81, table B.1). */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpegSize(picture: MediaBytes, head: Buffer): PictureSize | null {
  if (head.length < 4 || head.readUInt16BE(0) !== 0xffd8) return null;
  for (const length of JPEG_HEADS) {
    const size = largestFrame(picture.slice(0, length));
    if (size !== null) return size;
  }
  return null;
}

/** Returns the largest frame before the first scan; null if these bytes do not reach it. */
function largestFrame(bytes: Buffer): PictureSize | null {
  let width = 0;
  let height = 0;
  let at = 2;
  while (at + 4 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1]!;
    if (marker === START_OF_SCAN) return { width, height };
    if (marker < FIRST_MARKER || marker === END) return null;
    if (isFrame(marker) && at + 9 <= bytes.length) {
      height = Math.max(height, bytes.readUInt16BE(at + 5));
      width = Math.max(width, bytes.readUInt16BE(at + 7));
    }
    at += segmentBytes(bytes, at, marker);
  }
  return null;
}

function segmentBytes(bytes: Buffer, at: number, marker: number): number {
  if (marker === FILL) return 1;
  return hasLength(marker) ? 2 + bytes.readUInt16BE(at + 2) : 2;
}

const FILL = 0xff;
/** End marker of a JPEG. Readers differ in whether they continue after it. */
const END = 0xd9;
const hasLength = (marker: number): boolean => marker < 0xd0 || marker > 0xd8;
