/** Bytes of a picture, a recording or a film, wherever they are kept. */
export interface MediaBytes {
  readonly length: number;
  /** Returns the bytes from `start` to `end` (exclusive), as many of them as there are. */
  slice(start: number, end: number): Buffer;
  /** Counts places that are looked at in what `slice` returned. Bytes of a body with many files end when it is too many. */
  looked(places: number): void;
}
