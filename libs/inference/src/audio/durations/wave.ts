import type { AudioBytes } from '../audio-bytes';

/** Beyond this many chunks before the samples, a file is none that any recorder wrote. */
const MOST_CHUNKS = 1_000;

/**
 * The length of a WAVE file in seconds (RIFF, one `fmt ` chunk, one `data` chunk).
 *
 * A word is returned for what is wrong with a file: it has no samples, or claims more than there are.
 */
export function waveSeconds(audio: AudioBytes): number | 'broken' {
  let position = 12;
  let bytesPerSecond = 0;
  for (let count = 0; count < MOST_CHUNKS; count += 1) {
    const head = audio.slice(position, position + 8);
    if (head.length < 8) return 'broken';
    const name = head.toString('latin1', 0, 4);
    const size = head.readUInt32LE(4);
    if (name === 'data') return dataSeconds(size, audio.length - position - 8, bytesPerSecond);
    if (name === 'fmt ') bytesPerSecond = rateOf(audio.slice(position + 8, position + 24));
    // Chunks begin at even positions.
    position += 8 + size + (size % 2);
  }
  return 'broken';
}

/** Of plain samples the rate is counted and not believed. */
function rateOf(format: Buffer): number {
  if (format.length < 16) return 0;
  const isPlain = [1, 3, 0xfffe].includes(format.readUInt16LE(0));
  const sampleRate = format.readUInt32LE(4);
  return isPlain ? sampleRate * format.readUInt16LE(12) : format.readUInt32LE(8);
}

function dataSeconds(claimed: number, there: number, bytesPerSecond: number): number | 'broken' {
  if (claimed === 0 || claimed > there || bytesPerSecond === 0) return 'broken';
  return claimed / bytesPerSecond;
}
