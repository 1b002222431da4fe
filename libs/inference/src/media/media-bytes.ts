/** Bytes of a picture, a recording or a video, wherever they are stored. */
export interface MediaBytes {
  readonly length: number;
  /** Returns the bytes from `start` to `end` (exclusive), or fewer if there are fewer. */
  slice(start: number, end: number): Buffer;
  /**
   * Counts the frames, boxes and the like that a reader visits. After too many in one body, `slice` returns nothing.
   */
  countPlaces(places: number): void;
}
