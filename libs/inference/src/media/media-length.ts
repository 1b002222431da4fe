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

/** The longest packet of sound in a container, in seconds: at 8 kHz, except for Opus. */
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

/** Null for a codec of which no longest packet is known. */
export function longestPacket(codec: string): number | null {
  return Object.hasOwn(LONGEST_PACKETS, codec) ? LONGEST_PACKETS[codec]! : null;
}
