import type { MediaBytes } from '../media-bytes';
import { tagBytes } from './id3';

/** Beyond this many frames, more than an hour, the rest is taken to be like them. */
const MOST_FRAMES = 200_000;
const HEAD_BYTES = 8;
/** So much is looked at at once: a read of its own for each frame costs more than the frame. */
const WINDOW_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);
/** How far the first frame may be from the start, behind tags of the file. */
const LONGEST_SEARCH = 64 * 1024;

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
const ADTS_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

interface Frame {
  readonly bytes: number;
  readonly seconds: number;
}

/** Reads the frame that begins at a place of a buffer; null where none does. */
type ReadFrame = (bytes: Buffer, at: number) => Frame | null;

/** A run of frames. */
export interface FrameRun {
  readonly seconds: number;
  /** Bytes in front of the run that belong to no tag, and bytes behind it. */
  readonly otherBytes: number;
}

/** The length of an MP3 in seconds, by all of its frames: what a header says of them may be wrong. */
export function mp3Seconds(audio: MediaBytes): number | null {
  return mp3Run(audio)?.seconds ?? null;
}

/** The length of AAC in ADTS frames (ISO 14496-3, 1.A.2.2) in seconds. */
export function adtsSeconds(audio: MediaBytes): number | null {
  return adtsRun(audio)?.seconds ?? null;
}

/** The first run of MP3 frames. */
export function mp3Run(audio: MediaBytes): FrameRun | null {
  return firstRun(audio, readMpegFrame);
}

/** The first run of ADTS frames. */
export function adtsRun(audio: MediaBytes): FrameRun | null {
  return firstRun(audio, readAdtsFrame);
}

function firstRun(audio: MediaBytes, read: ReadFrame): FrameRun | null {
  const start = firstFrame(audio, read);
  if (start === null) return null;
  let position = start;
  let seconds = 0;
  let window: Buffer = EMPTY;
  let windowStart = 0;
  for (let count = 0; count < MOST_FRAMES; count += 1) {
    if (position + HEAD_BYTES > windowStart + window.length) {
      window = audio.slice(position, position + WINDOW_BYTES);
      windowStart = position;
    }
    const frame = read(window, position - windowStart);
    if (frame === null) {
      const otherBytes = start - tagBytes(audio.slice(0, 10)) + Math.max(0, audio.length - position);
      return seconds === 0 ? null : { seconds, otherBytes };
    }
    position += frame.bytes;
    seconds += frame.seconds;
  }
  return { seconds: (seconds * (audio.length - start)) / (position - start), otherBytes: 0 };
}

function firstFrame(audio: MediaBytes, read: ReadFrame): number | null {
  const start = tagBytes(audio.slice(0, 10));
  const area = audio.slice(start, start + LONGEST_SEARCH);
  for (let at = area.indexOf(0xff); at !== -1; at = area.indexOf(0xff, at + 1)) {
    const frame = read(area, at);
    if (frame === null) continue;
    const next = audio.slice(start + at + frame.bytes, start + at + frame.bytes + HEAD_BYTES);
    // A frame is followed by another, or by nothing at all.
    if (next.length === 0 || read(next, 0) !== null) return start + at;
  }
  return null;
}

function readMpegFrame(file: Buffer, at: number): Frame | null {
  if (file.length < at + 4 || file[at] !== 0xff || (file[at + 1]! & 0xe0) !== 0xe0) return null;
  const [kind, rates] = [file[at + 1]!, file[at + 2]!];
  const version = (kind >> 3) & 3;
  const layer = 4 - ((kind >> 1) & 3);
  const sampleRate = (SAMPLE_RATES[(rates >> 2) & 3] ?? 0) / RATE_DIVISORS[version]!;
  const bitrate = (version === MPEG_1 ? BITRATES_1 : BITRATES_2)[layer]?.[rates >> 4];
  if (sampleRate === 0 || !bitrate) return null;
  const samples = samplesOf(version, layer);
  const padding = (rates >> 1) & 1;
  const slot = layer === 1 ? 4 : 1;
  const bytes = Math.floor((samples / 8 / slot) * ((bitrate * 1_000) / sampleRate) + padding) * slot;
  return { bytes, seconds: samples / sampleRate };
}

const MPEG_1 = 3;
/** By version: 2.5, none, 2, 1. */
const RATE_DIVISORS = [4, Number.POSITIVE_INFINITY, 2, 1];

function samplesOf(version: number, layer: number): number {
  if (layer === 1) return 384;
  return layer === 3 && version !== MPEG_1 ? 576 : 1_152;
}

function readAdtsFrame(file: Buffer, at: number): Frame | null {
  if (file.length < at + 7 || file[at] !== 0xff || (file[at + 1]! & 0xf6) !== 0xf0) return null;
  const sampleRate = ADTS_RATES[(file[at + 2]! >> 2) & 15];
  const bytes = ((file[at + 3]! & 3) << 11) | (file[at + 4]! << 3) | (file[at + 5]! >> 5);
  if (sampleRate === undefined || bytes < 7) return null;
  return { bytes, seconds: (1_024 * ((file[at + 6]! & 3) + 1)) / sampleRate };
}
