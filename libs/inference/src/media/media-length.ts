/** How long a recording or a film is. */
export interface MediaLength {
  /** The longer of what it states and what is counted in it: for bills. 0 where it says nothing. */
  readonly seconds: number;
  /** The longest that a decoder may play it: for holds. Null where nothing in it can be relied on. */
  readonly longest: number | null;
  readonly hasPictures: boolean;
}

/**
 * Bits per second below which no sound or film is encoded that a provider reads: Opus and MP3 begin at 6,000 and 8,000,
 * a film of a still picture needs some hundred. A file without a reliable length counts as long as its bytes last at
 * this rate.
 */
export const LEAST_BITRATES = { sound: 6_000, film: 4_000 } as const;

export function longestOfBytes(bytes: number, hasPictures = false): number {
  return (bytes * 8) / LEAST_BITRATES[hasPictures ? 'film' : 'sound'];
}

/**
 * The longest packet of sound in a container, in seconds: at 8 kHz, except for Opus. Silence can need a few bytes, so
 * that the bytes alone do not bound it.
 */
const LONGEST_PACKETS: Readonly<Record<string, number>> = {
  Opus: 0.12,
  A_OPUS: 0.12,
  '.mp3': 0.072,
  'A_MPEG/L3': 0.072,
  mp4a: 0.128,
  A_AAC: 0.128,
  alac: 0.512,
  A_ALAC: 0.512,
  A_VORBIS: 1.024,
  fLaC: 8.192,
  A_FLAC: 8.192,
};

export function longestPacket(codec: string): number {
  return Object.hasOwn(LONGEST_PACKETS, codec) ? LONGEST_PACKETS[codec]! : 0;
}
