/** Length of a recording or a video. */
export interface MediaLength {
  /** The longer of the stated and the counted seconds; used for bills. 0 if both are unknown. */
  readonly seconds: number;
  /** The longest time that a decoder may play it; used for reservations. Null if nothing in it limits that. */
  readonly longest: number | null;
  readonly hasPictures: boolean;
}

/** Length of media that do not state how long they are. */
export const UNKNOWN_LENGTH: MediaLength = { seconds: 0, longest: null, hasPictures: false };

/**
 * Lowest MP3 bit rate: 8,000 bits a second. Other codecs can encode silence or a still picture of any length in few
 * bytes.
 */
const LEAST_MP3_BITRATE = 6_000;

export function longestMp3(bytes: number): number {
  return (bytes * 8) / LEAST_MP3_BITRATE;
}
