/** Bytes of a picture, a recording or a film, wherever they are kept. */
export interface MediaBytes {
  readonly length: number;
  /** Returns the bytes from `start` to `end` (exclusive), as many of them as there are. */
  slice(start: number, end: number): Buffer;
  /** Counts frames, boxes and the like that a reader looks at. `slice` returns nothing once it is too many in one body. */
  countPlaces(places: number): void;
}
