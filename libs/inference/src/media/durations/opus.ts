export const OPUS_RATE = 48_000;

/**
 * Samples of a frame by the configuration in the first byte of a packet (RFC 6716 §3.1): SILK, hybrid and CELT modes.
 */
const SILK = [480, 960, 1_920, 2_880];
const HYBRID = [480, 960];
const CELT = [120, 240, 480, 960];
const FIRST_HYBRID = 12;
const FIRST_CELT = 16;
/** 120 ms. A packet with more is invalid; packets with headers and tags look like such ones. */
const MOST_SAMPLES = 5_760;

/** Returns the number of samples, at 48 kHz, of the packet that begins at an offset; 0 for an invalid packet. */
export function opusSamples(bytes: Buffer, at: number): number {
  const first = bytes[at]!;
  const samples = frames(first & 3, bytes[at + 1] ?? 0) * frameSamples(first >> 3);
  return samples > MOST_SAMPLES ? 0 : samples;
}

function frames(code: number, second: number): number {
  if (code === 3) return second & 0x3f;
  return code === 0 ? 1 : 2;
}

function frameSamples(configuration: number): number {
  if (configuration < FIRST_HYBRID) return SILK[configuration & 3]!;
  return configuration < FIRST_CELT ? HYBRID[configuration & 1]! : CELT[configuration & 3]!;
}
