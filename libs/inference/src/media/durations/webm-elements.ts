/** Ids of the WebM elements (RFC 9559 §5.1) that are read. */
export const SEGMENT = 0x18538067;
export const INFO = 0x1549a966;
export const TIMESTAMP_SCALE = 0x2ad7b1;
export const DURATION = 0x4489;
export const TRACKS = 0x1654ae6b;
export const TRACK = 0xae;
export const TRACK_NUMBER = 0xd7;
export const TRACK_TYPE = 0x83;
export const CODEC = 0x86;
export const CODEC_PRIVATE = 0x63a2;
export const CONTENT_ENCODINGS = 0x6d80;
export const TIMESTAMP_SCALE_OF_TRACK = 0x23314f;
export const DURATION_OF_BLOCKS = 0x23e383;
export const DURATION_OF_BLOCK = 0x9b;
export const CLUSTER = 0x1f43b675;
export const TIMESTAMP = 0xe7;
export const GROUP = 0xa0;
export const SIMPLE_BLOCK = 0xa3;
export const BLOCK = 0xa1;

export const PARENTS: readonly number[] = [SEGMENT, INFO, TRACKS, TRACK, CLUSTER, GROUP];
/** Only these elements may be written before their size is known. They then end where the next of their kind begins. */
export const OPEN: readonly number[] = [SEGMENT, CLUSTER];

/** The parent that each element must have: some decoders ignore it anywhere else. */
const PLACES: ReadonlyMap<number, number> = new Map([
  [INFO, SEGMENT],
  [TRACKS, SEGMENT],
  [CLUSTER, SEGMENT],
  [TIMESTAMP_SCALE, INFO],
  [DURATION, INFO],
  [TRACK, TRACKS],
  [TRACK_NUMBER, TRACK],
  [TRACK_TYPE, TRACK],
  [CODEC, TRACK],
  [CODEC_PRIVATE, TRACK],
  [CONTENT_ENCODINGS, TRACK],
  [TIMESTAMP_SCALE_OF_TRACK, TRACK],
  [DURATION_OF_BLOCKS, TRACK],
  [TIMESTAMP, CLUSTER],
  [GROUP, CLUSTER],
  [SIMPLE_BLOCK, CLUSTER],
  [BLOCK, GROUP],
  [DURATION_OF_BLOCK, GROUP],
]);

export interface Element {
  readonly id: number;
  readonly start: number;
  readonly end: number;
  readonly isOpen: boolean;
}

/** Closes the open elements that end before an offset. */
export function closeBefore(position: number, open: Element[]): void {
  while (open.length > 0 && position >= open.at(-1)!.end) open.pop();
}

/** @param open the enclosing elements. An element of unknown size ends at an element that it cannot contain. */
export function isAtItsPlace(id: number, open: Element[]): boolean {
  const place = PLACES.get(id);
  if (place === undefined) return id !== SEGMENT || open.length === 0;
  while (open.at(-1)?.isOpen === true && open.at(-1)!.id !== place) open.pop();
  return open.at(-1)?.id === place;
}
