/** How long a recording or a film is. */
export interface MediaLength {
  /** The longer of what it states and what is counted in it: for bills. 0 where it says nothing. */
  readonly seconds: number;
  /** The longest that a decoder may play it: for holds. Null where nothing in it bounds that. */
  readonly longest: number | null;
  readonly hasPictures: boolean;
}

/** Of what says nothing of its length. */
export const UNKNOWN_LENGTH: MediaLength = { seconds: 0, longest: null, hasPictures: false };

/** MP3 begins at 8,000 bits a second. Other codecs need a few bytes for any length of silence, or for a still picture. */
const LEAST_MP3_BITRATE = 6_000;

export function longestMp3(bytes: number): number {
  return (bytes * 8) / LEAST_MP3_BITRATE;
}
