import type { MediaBytes } from '../media-bytes';
import { flacFrameSeconds } from './flac-frames';
import { tagBytes } from './id3';

/** Bytes that are read at once. */
const WINDOW_BYTES = 256 * 1024;
/** The longest head of a frame. */
const LONGEST_HEAD = 16;
/**
 * Sound data looks like a frame header by chance about once in 40 MB. Up to this factor, a count above the stated
 * length is attributed to chance.
 */
const CHANCE = 1.01;
/** All bits but the last, which says whether frames or samples are numbered. */
const SECOND_BYTE = 0xf8 >> 1;
const LONGEST_STATED = 24 * 3_600;

/**
 * Returns the length of a FLAC file in seconds (RFC 9639). It is the longer of the length that the first block states
 * and the length of all frames, which decoders play; null if neither is known.
 */
export function flacSeconds(audio: MediaBytes): number | null {
  const start = tagBytes(audio.slice(0, 10)) ?? 0;
  const head = audio.slice(start, start + 4 + 4 + 34);
  if (head.length < 42 || head.toString('latin1', 0, 4) !== 'fLaC') return null;
  const info = (head[4]! & 0x7f) === 0 ? streamInfo(head, 8) : { sampleRate: 0, seconds: 0 };
  const played = secondsOfFrames(audio, info.sampleRate);
  const stated = info.seconds > LONGEST_STATED ? 0 : info.seconds;
  const seconds = played > stated * CHANCE ? played : stated;
  return seconds === 0 ? null : seconds;
}

/** Reads the STREAMINFO block at an offset (§8.2). */
function streamInfo(bytes: Buffer, at: number): { readonly sampleRate: number; readonly seconds: number } {
  const sampleRate = bytes.readUIntBE(at + 10, 3) >> 4;
  // Number of samples, in 36 bits: the low half of one byte and four more bytes.
  const samples = (bytes[at + 13]! & 15) * 2 ** 32 + bytes.readUInt32BE(at + 14);
  return { sampleRate, seconds: sampleRate === 0 ? 0 : samples / sampleRate };
}

/**
 * Adds up the frames by finding frame headers at any offset, because the end of a frame is known only after decoding
 * it. Headers inside other frames count too, so that no frame can be hidden.
 */
function secondsOfFrames(audio: MediaBytes, sampleRate: number): number {
  let seconds = 0;
  for (let from = 0; from < audio.length; from += WINDOW_BYTES - LONGEST_HEAD) {
    const window = audio.slice(from, from + WINDOW_BYTES);
    const isLast = from + WINDOW_BYTES >= audio.length;
    const end = isLast ? window.length : WINDOW_BYTES - LONGEST_HEAD;
    for (let at = 0; at < end; at += 1) {
      const isHead = window[at] === 0xff && window[at + 1]! >> 1 === SECOND_BYTE;
      if (!isHead) continue;
      audio.countPlaces(1);
      seconds += flacFrameSeconds(window, at, sampleRate);
    }
    if (isLast) break;
  }
  return seconds;
}
