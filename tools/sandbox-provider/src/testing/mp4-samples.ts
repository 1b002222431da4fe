export interface Box {
  readonly name: string;
  readonly start: number;
  readonly body: Buffer;
}

/** The boxes of an MP4 file, or of a box's body. Throws when a length does not add up. */
export function boxesOf(bytes: Buffer, from = 0): Box[] {
  const boxes: Box[] = [];
  for (let at = from; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    if (length < 8 || at + length > bytes.length) throw new Error(`a box at ${at} does not fit`);
    boxes.push({
      name: bytes.toString('latin1', at + 4, at + 8),
      start: at,
      body: bytes.subarray(at + 8, at + length),
    });
    at += length;
  }
  return boxes;
}

/** The body of a box by its path, for instance `moov/trak/mdia`. */
export function boxAt(bytes: Buffer, path: string): Buffer {
  return path.split('/').reduce((body, name) => {
    const box = boxesOf(body).find((candidate) => candidate.name === name);
    if (!box) throw new Error(`no box ${name}`);
    return box.body;
  }, bytes);
}

/** The samples that the index points at. */
export function samplesOf(file: Buffer): Buffer[] {
  const table = boxAt(file, 'moov/trak/mdia/minf/stbl');
  const sizes = boxAt(table, 'stsz');
  let at = boxAt(table, 'stco').readUInt32BE(8);
  return Array.from({ length: sizes.readUInt32BE(8) }, (_, index) => {
    const size = sizes.readUInt32BE(12 + index * 4);
    at += size;
    return file.subarray(at - size, at);
  });
}
