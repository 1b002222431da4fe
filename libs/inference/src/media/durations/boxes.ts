/** Most boxes of one level that are read. */
const MOST_BOXES = 1_000;

/** A box of ISO 14496-12 §4.2, with the offsets of its content. */
export interface Box {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

type ReadBytes = (start: number, end: number) => Buffer;

/** Returns all boxes of one level; null if they do not fill it exactly or are too many. */
export function boxesBetween(
  read: ReadBytes,
  start: number,
  end: number,
  mostBoxes = MOST_BOXES,
): readonly Box[] | null {
  const boxes: Box[] = [];
  let position = start;
  while (position + 8 <= end) {
    const head = read(position, position + 16);
    const { headBytes, bytes } = sizeOf(head, end - position);
    if (bytes < headBytes || bytes > end - position || boxes.length === mostBoxes) return null;
    boxes.push({ kind: head.toString('latin1', 4, 8), start: position + headBytes, end: position + bytes });
    position += bytes;
  }
  return boxes;
}

/** Returns the size of a box including its header. A box without a size ends where its parent ends. */
function sizeOf(head: Buffer, left: number): { readonly headBytes: number; readonly bytes: number } {
  const size = head.length < 8 ? -1 : head.readUInt32BE(0);
  if (size === 1) return { headBytes: 16, bytes: head.length < 16 ? -1 : Number(head.readBigUInt64BE(8)) };
  return { headBytes: 8, bytes: size === 0 ? left : size };
}

/** Returns the only box of one of these kinds; null if there is none, or if decoders may read different ones. */
export function onlyBox(boxes: readonly Box[] | null, ...kinds: readonly string[]): Box | null {
  const found = boxes?.filter(({ kind }) => kinds.includes(kind)) ?? [];
  return found.length === 1 ? found[0]! : null;
}

/** Returns the content of the only box at a path of nested boxes; null if there is none. */
export function contentAt(within: Buffer, ...path: readonly string[]): Buffer | null {
  return path.reduce<Buffer | null>((content, kind) => {
    const box = content && onlyBox(boxesIn(content), kind);
    return content && box && content.subarray(box.start, box.end);
  }, within);
}

export function boxesIn(content: Buffer): readonly Box[] | null {
  return boxesBetween((start, end) => content.subarray(start, end), 0, content.length);
}

/** Returns how often a text occurs in the bytes, at any offset. */
export function countOf(bytes: Buffer, text: string): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) count += 1;
  return count;
}
