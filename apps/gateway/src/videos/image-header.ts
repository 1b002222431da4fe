/** Kind and size of a picture from its first bytes; the picture is not decoded. */
export interface ImageHeader {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp';
  readonly width: number;
  readonly height: number;
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Returns kind and size of a picture from its header. Null for data that is not a picture of a known kind; sides of 0
 * for a broken header.
 */
export function readImageHeader(bytes: Buffer): ImageHeader | null {
  if (bytes.subarray(0, 8).equals(PNG)) return { mediaType: 'image/png', ...pngSize(bytes) };
  if (bytes.length > 3 && bytes.readUIntBE(0, 3) === 0xffd8ff) return { mediaType: 'image/jpeg', ...jpegSize(bytes) };
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
  return isWebp ? { mediaType: 'image/webp', ...webpSize(bytes) } : null;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

const BROKEN: Size = { width: 0, height: 0 };

/** The first chunk is IHDR (PNG, third edition, §11.2.1). */
function pngSize(bytes: Buffer): Size {
  if (bytes.length < 24 || bytes.toString('latin1', 12, 16) !== 'IHDR') return BROKEN;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** Skips segments up to the frame header (ITU T.81 §B.2), which is SOF0 to SOF15 without DHT, JPG and DAC. */
function jpegSize(bytes: Buffer): Size {
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1]!;
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (isFrameHeader(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) return BROKEN;
    at += 2 + length;
  }
  return BROKEN;
}

function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** The first chunk is VP8X, VP8L or VP8 with a space (RFC 9649). */
function webpSize(bytes: Buffer): Size {
  if (bytes.length < 30) return BROKEN;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    default:
      return BROKEN;
  }
}
