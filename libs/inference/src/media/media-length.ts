/** How long a recording or a film is. */
export interface MediaLength {
  /** The longer of what it states and what is counted in it: for bills. 0 where it says nothing. */
  readonly seconds: number;
  /** The longest that a decoder may play it: for holds. Null where nothing in it bounds that. */
  readonly longest: number | null;
  readonly hasPictures: boolean;
}

/** MP3 begins at 8,000 bits a second. Other codecs need a few bytes for any length of silence, or for a still picture. */
const LEAST_MP3_BITRATE = 6_000;

export function longestMp3(bytes: number): number {
  return (bytes * 8) / LEAST_MP3_BITRATE;
}

/**
 * The longest packet of sound in a container, in seconds: at 8 kHz, except for Opus. Packets of MP3 may hold several
 * frames, which their bytes bound.
 */
const LONGEST_PACKETS: Readonly<Record<string, number>> = {
  Opus: 0.12,
  A_OPUS: 0.12,
  'ac-3': 0.048,
  A_AC3: 0.048,
  'ec-3': 0.048,
  A_EAC3: 0.048,
  samr: 0.3,
  sawb: 0.3,
  mp4a: 0.128,
  A_AAC: 0.128,
  alac: 0.512,
  A_ALAC: 0.512,
  A_VORBIS: 1.024,
  fLaC: 8.192,
  A_FLAC: 8.192,
};

const MP3_CODECS: readonly string[] = ['.mp3', 'A_MPEG/L3'];

/** Returns the longest that packets of a codec play; null where nothing bounds that. */
export function longestOfPackets(codec: string, count: number, bytes: number): number | null {
  if (MP3_CODECS.includes(codec)) return longestMp3(bytes);
  return Object.hasOwn(LONGEST_PACKETS, codec) ? count * LONGEST_PACKETS[codec]! : null;
}
