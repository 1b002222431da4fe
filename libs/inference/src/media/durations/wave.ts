import type { MediaBytes } from '../media-bytes';

/** No recorder writes a file of so many chunks. */
const MOST_CHUNKS = 1_000;

/** Codecs whose sample size is the one that the head names: PCM, float, A-law, mu-law and the extensible format. */
const PLAIN_CODECS: readonly number[] = [1, 3, 6, 7, 0xfffe];
/** No compressed codec of WAVE files needs more bytes for a second of sound. */
const MOST_COMPRESSED_BYTES = 125_000;

/**
 * Returns the length of a WAVE file in seconds: of all its `data` chunks, because decoders play each of them.
 *
 * Returns `broken` if the file has no samples, or claims more than there are.
 */
export function waveSeconds(audio: MediaBytes): number | 'broken' {
  let position = 12;
  let dataBytes = 0;
  let bytesPerSecond = Number.POSITIVE_INFINITY;
  for (let count = 0; count < MOST_CHUNKS; count += 1) {
    const head = audio.slice(position, position + 8);
    if (head.length < 8) return dataBytes === 0 || bytesPerSecond === 0 ? 'broken' : dataBytes / bytesPerSecond;
    const name = head.toString('latin1', 0, 4);
    const size = head.readUInt32LE(4);
    if (name === 'data') {
      if (size > audio.length - position - 8 || bytesPerSecond === Number.POSITIVE_INFINITY) return 'broken';
      dataBytes += size;
    }
    // Decoders differ in which of several heads they believe; the slowest makes the longest sound.
    if (name === 'fmt ') bytesPerSecond = Math.min(bytesPerSecond, rateOf(audio.slice(position + 8, position + 24)));
    // Chunks begin at even positions.
    position += 8 + size + (size % 2);
  }
  return 'broken';
}

/** Whether every head of a WAVE file names a codec whose bytes are samples, so that their number is its length. */
export function hasPlainSamples(audio: MediaBytes): boolean {
  let position = 12;
  for (let count = 0; count < MOST_CHUNKS; count += 1) {
    const head = audio.slice(position, position + 10);
    if (head.length < 8) return true;
    const isFormat = head.toString('latin1', 0, 4) === 'fmt ';
    if (isFormat && (head.length < 10 || !PLAIN_CODECS.includes(head.readUInt16LE(8)))) return false;
    const size = head.readUInt32LE(4);
    position += 8 + size + (size % 2);
  }
  return false;
}

/** Returns bytes per second, counted from channels and bits: decoders ignore the block size that a head names. */
function rateOf(format: Buffer): number {
  if (format.length < 16) return 0;
  const sampleBytes = Math.ceil(format.readUInt16LE(14) / 8);
  if (PLAIN_CODECS.includes(format.readUInt16LE(0))) {
    return format.readUInt32LE(4) * format.readUInt16LE(2) * sampleBytes;
  }
  return Math.min(format.readUInt32LE(8), MOST_COMPRESSED_BYTES);
}
