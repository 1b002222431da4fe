import type { MediaBytes } from '../media-bytes';
import { flacFrameSeconds } from './flac-frames';
import { tagBytes } from './id3';

/** So much is looked at at once. */
const WINDOW_BYTES = 256 * 1024;
/** The longest head of a frame. */
const LONGEST_HEAD = 16;
/** Sound looks like the head of a frame by chance, about once in 40 MB. So much more than the file says is chance. */
const CHANCE = 1.01;
/** All bits but the last, which says how frames are numbered. */
const SECOND_BYTE = 0xf8 >> 1;
const LONGEST_STATED = 24 * 3_600;

/**
 * The length of a FLAC file in seconds (RFC 9639): the longer of what its first block says and what its frames hold,
 * which is what decoders play; null where neither says any.
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

/** What the block STREAMINFO at a place says (§8.2). */
function streamInfo(bytes: Buffer, at: number): { readonly sampleRate: number; readonly seconds: number } {
  const sampleRate = bytes.readUIntBE(at + 10, 3) >> 4;
  // Thirty-six bits: the low half of a byte, and four more.
  const samples = (bytes[at + 13]! & 15) * 2 ** 32 + bytes.readUInt32BE(at + 14);
  return { sampleRate, seconds: sampleRate === 0 ? 0 : samples / sampleRate };
}

/**
 * Counts the frame headers at any offset: the end of a frame is known only after decoding it. Headers within headers
 * count too, so that none hides behind another.
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
