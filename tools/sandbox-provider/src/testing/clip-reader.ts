import type { Picture, PictureSize } from '../videos/picture';

const I_PCM = 25;
const I_PCM_IN_P = 30;

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

class BitReader {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  bits(count: number): number {
    let value = 0;
    for (let index = 0; index < count; index += 1, this.at += 1) {
      value = value * 2 + (((this.bytes[this.at >> 3] ?? 0) >> (7 - (this.at & 7))) & 1);
    }
    return value;
  }

  unsigned(): number {
    let zeros = 0;
    while (this.bits(1) === 0) zeros += 1;
    return 2 ** zeros - 1 + this.bits(zeros);
  }

  take(count: number): Buffer {
    this.at = (this.at + 7) & ~7;
    this.at += count * 8;
    return this.bytes.subarray(this.at / 8 - count, this.at / 8);
  }

  /** more_rbsp_data: whether anything stands before the stop bit. */
  hasMore(): boolean {
    let end = this.bytes.length * 8 - 1;
    while (((this.bytes[end >> 3] ?? 0) >> (7 - (end & 7))) % 2 === 0) end -= 1;
    return this.at < end;
  }
}

/** Decodes slices of I_PCM and P_Skip macroblocks, written from the standard and not from the writer. */
export class ClipDecoder {
  private picture: Picture | null = null;

  constructor(private readonly size: PictureSize) {}

  decode(sample: Buffer): Picture {
    if (sample.readUInt32BE(0) !== sample.length - 4) throw new Error('a sample is not one NAL unit');
    const header = sample[4] ?? 0;
    const reader = new BitReader(withoutEmulation(sample.subarray(5)));
    const isKey = (header & 31) === 5;
    readSliceHeader(reader, isKey);
    const picture = this.picture === null || isKey ? emptyPicture(this.size) : copyOf(this.picture);
    const count = this.size.columns * this.size.rows;
    let block = 0;
    while (block < count) {
      if (!isKey) block += reader.unsigned();
      if (!isKey && !reader.hasMore()) break;
      expectEqual(reader.unsigned(), isKey ? I_PCM : I_PCM_IN_P, 'mb_type');
      this.fill(picture, block, reader);
      block += 1;
    }
    expectEqual(block, count, 'macroblocks');
    this.picture = picture;
    return picture;
  }

  private fill(picture: Picture, block: number, reader: BitReader): void {
    const stride = this.size.columns * 16;
    const row = Math.floor(block / this.size.columns);
    const column = block % this.size.columns;
    fillPlane(picture.luma, reader.take(256), row * 16 * stride + column * 16, stride, 16);
    const chroma = row * 8 * (stride / 2) + column * 8;
    fillPlane(picture.blue, reader.take(64), chroma, stride / 2, 8);
    fillPlane(picture.red, reader.take(64), chroma, stride / 2, 8);
  }
}

function readSliceHeader(reader: BitReader, isKey: boolean): void {
  expectEqual(reader.unsigned(), 0, 'first_mb_in_slice');
  expectEqual(reader.unsigned(), isKey ? 7 : 5, 'slice_type');
  expectEqual(reader.unsigned(), 0, 'pic_parameter_set_id');
  reader.bits(4);
  if (isKey) reader.unsigned();
  expectEqual(reader.bits(isKey ? 2 : 3), 0, 'flags');
  expectEqual(reader.unsigned(), 0, 'slice_qp_delta');
  expectEqual(reader.unsigned(), 1, 'disable_deblocking_filter_idc');
}

function fillPlane(plane: Uint8Array, samples: Buffer, start: number, stride: number, side: number): void {
  for (let row = 0; row < side; row += 1) {
    plane.set(samples.subarray(row * side, row * side + side), start + row * stride);
  }
}

function emptyPicture(size: PictureSize): Picture {
  const points = size.columns * size.rows * 256;
  return { luma: new Uint8Array(points), blue: new Uint8Array(points / 4), red: new Uint8Array(points / 4) };
}

function copyOf(picture: Picture): Picture {
  return { luma: picture.luma.slice(), blue: picture.blue.slice(), red: picture.red.slice() };
}

function withoutEmulation(bytes: Buffer): Buffer {
  const kept = [...bytes].filter((byte, at) => !(byte === 3 && at >= 2 && bytes[at - 1] === 0 && bytes[at - 2] === 0));
  return Buffer.from(kept);
}

function expectEqual(actual: number, expected: number, name: string): void {
  if (actual !== expected) throw new Error(`${name} is ${actual}, not ${expected}`);
}
