import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What FFmpeg's encoder made of tones, noise and clicks: AAC with one, two and six channels in ADTS frames, and the first
 * of them in containers.
 */
export const ENCODED_SOUNDS = [
  'mono.aac',
  'stereo.aac',
  'surround.aac',
  'mono.m4a',
  'fragments.m4a',
  'mono.mka',
] as const;

export type EncodedSound = (typeof ENCODED_SOUNDS)[number];

export function encodedSound(name: EncodedSound): Buffer {
  return readFileSync(join(__dirname, 'sounds', name));
}

/** A frame of ADTS without checksum. */
export interface AdtsFrame {
  readonly rateCode: number;
  readonly block: Buffer;
}

export function adtsFrames(file: Buffer): AdtsFrame[] {
  const frames: AdtsFrame[] = [];
  for (let at = 0; at < file.length;) {
    const bytes = (file.readUIntBE(at + 3, 3) >> 5) & 0x1fff;
    frames.push({ rateCode: (file[at + 2]! >> 2) & 15, block: file.subarray(at + 7, at + bytes) });
    at += bytes;
  }
  return frames;
}
