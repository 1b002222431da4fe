import type { MediaBytes } from '../media-bytes';

/** A page is at most this long, so the last one begins within it. */
const LONGEST_PAGE = 65_307;
const OPUS_RATE = 48_000;
const NO_POSITION = 0xffff_ffff_ffff_ffffn;

/** The length of an Ogg file with Opus or Vorbis in seconds, by the position that its last page names (RFC 3533). */
export function oggSeconds(audio: MediaBytes): number | null {
  const codec = codecOf(audio.slice(0, 512));
  if (codec === null) return null;
  const tail = audio.slice(audio.length - LONGEST_PAGE, audio.length);
  for (let at = tail.lastIndexOf('OggS'); at !== -1; at = at === 0 ? -1 : tail.lastIndexOf('OggS', at - 1)) {
    if (at + 14 > tail.length) continue;
    const position = tail.readBigUInt64LE(at + 6);
    if (position !== NO_POSITION) return Math.max(0, Number(position) - codec.skipped) / codec.sampleRate;
  }
  return null;
}

interface Codec {
  readonly sampleRate: number;
  /** Samples before the first that is heard. */
  readonly skipped: number;
}

function codecOf(firstPage: Buffer): Codec | null {
  const opus = firstPage.indexOf('OpusHead');
  if (opus !== -1 && opus + 12 <= firstPage.length) {
    return { sampleRate: OPUS_RATE, skipped: firstPage.readUInt16LE(opus + 10) };
  }
  const vorbis = firstPage.indexOf('\u0001vorbis', 0, 'latin1');
  if (vorbis === -1 || vorbis + 16 > firstPage.length) return null;
  const sampleRate = firstPage.readUInt32LE(vorbis + 12);
  return sampleRate === 0 ? null : { sampleRate, skipped: 0 };
}
