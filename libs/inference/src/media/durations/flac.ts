import type { MediaBytes } from '../media-bytes';

/** The length of a FLAC file in seconds, as its first block says (RFC 9639 §8.2); null where it does not. */
export function flacSeconds(audio: MediaBytes): number | null {
  const head = audio.slice(0, 4 + 4 + 34);
  if (head.length < 42 || head.toString('latin1', 0, 4) !== 'fLaC' || (head[4]! & 0x7f) !== 0) return null;
  const sampleRate = head.readUIntBE(18, 3) >> 4;
  // Thirty-six bits: the low half of a byte, and four more.
  const samples = (head[21]! & 15) * 2 ** 32 + head.readUInt32BE(22);
  return sampleRate === 0 || samples === 0 ? null : samples / sampleRate;
}
