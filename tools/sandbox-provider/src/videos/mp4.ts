import { CONSTRAINTS, LEVEL, PROFILE } from './h264';
import type { PictureSize } from './picture';

const TIMESCALE = 1_000;
const LANGUAGE_UNDETERMINED = 0x55c4;
const UNITY_MATRIX = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000];

export interface Sample {
  readonly bytes: Buffer;
  readonly isKey: boolean;
}

export interface Mp4Track {
  readonly size: PictureSize;
  readonly framesPerSecond: number;
  readonly sequenceParameters: Buffer;
  readonly pictureParameters: Buffer;
  /** One NAL unit each, in the order shown. */
  readonly samples: readonly Sample[];
  readonly comment: string;
}

/** An MP4 file (ISO/IEC 14496-12 and -15) of one video track, its index before its data so that it plays at once. */
export function writeMp4(track: Mp4Track): Buffer {
  const fileType = box('ftyp', text('isom'), u32(0x200), text('isomiso2avc1mp41'));
  const media = Buffer.concat(track.samples.flatMap((sample) => [u32(sample.bytes.length), sample.bytes]));
  // The index holds the offset of the data behind it; its length does not depend on the value.
  const indexLength = movie(track, 0).length;
  return Buffer.concat([fileType, movie(track, fileType.length + indexLength + 8), box('mdat', media)]);
}

function movie(track: Mp4Track, dataOffset: number): Buffer {
  const duration = Math.round((track.samples.length * TIMESCALE) / track.framesPerSecond);
  const header = fullBox(
    'mvhd',
    0,
    [u32(0), u32(0), u32(TIMESCALE), u32(duration), u32(0x10000), u16(0x100), Buffer.alloc(10)],
    [...UNITY_MATRIX.map(u32), Buffer.alloc(24), u32(2)],
  );
  const trackHeader = fullBox(
    'tkhd',
    3, // enabled, in movie
    [u32(0), u32(0), u32(1), u32(0), u32(duration), Buffer.alloc(16)],
    [...UNITY_MATRIX.map(u32), u32(track.size.width << 16), u32(track.size.height << 16)],
  );
  const mediaHeader = fullBox(
    'mdhd',
    0,
    [u32(0), u32(0), u32(TIMESCALE), u32(duration)],
    [u16(LANGUAGE_UNDETERMINED), u16(0)],
  );
  const handler = fullBox('hdlr', 0, [u32(0), text('vide'), Buffer.alloc(12), text('sandbox\0')]);
  const dataReference = box('dinf', fullBox('dref', 0, [u32(1), fullBox('url ', 1)]));
  const videoHeader = fullBox('vmhd', 1, [Buffer.alloc(8)]);
  const information = box('minf', videoHeader, dataReference, sampleTable(track, dataOffset));
  const media = box('mdia', mediaHeader, handler, information);
  return box('moov', header, box('trak', trackHeader, media), comment(track.comment));
}

function sampleTable(track: Mp4Track, dataOffset: number): Buffer {
  const { samples } = track;
  const keys = samples.flatMap((sample, index) => (sample.isKey ? [u32(index + 1)] : []));
  const sizes = samples.map((sample) => u32(sample.bytes.length + 4));
  return box(
    'stbl',
    fullBox('stsd', 0, [u32(1), sampleEntry(track)]),
    fullBox('stts', 0, [u32(1), u32(samples.length), u32(TIMESCALE / track.framesPerSecond)]),
    fullBox('stss', 0, [u32(keys.length), ...keys]),
    fullBox('stsc', 0, [u32(1), u32(1), u32(samples.length), u32(1)]),
    fullBox('stsz', 0, [u32(0), u32(samples.length), ...sizes]),
    fullBox('stco', 0, [u32(1), u32(dataOffset)]),
  );
}

function sampleEntry(track: Mp4Track): Buffer {
  const { sequenceParameters, pictureParameters, size } = track;
  const configuration = box(
    'avcC',
    Buffer.from([1, PROFILE, CONSTRAINTS, LEVEL, 0xff, 0xe1]),
    u16(sequenceParameters.length),
    sequenceParameters,
    Buffer.from([1]),
    u16(pictureParameters.length),
    pictureParameters,
  );
  return box(
    'avc1',
    Buffer.alloc(6),
    u16(1), // data_reference_index
    Buffer.alloc(16),
    u16(size.width),
    u16(size.height),
    u32(0x480000), // 72 dots per inch
    u32(0x480000),
    u32(0),
    u16(1), // frames per sample
    Buffer.alloc(32),
    u16(24), // depth
    u16(0xffff),
    configuration,
  );
}

/** The comment that players show, in the box they look for it. */
function comment(words: string): Buffer {
  const data = box('data', u32(1), u32(0), text(words));
  const handler = fullBox('hdlr', 0, [u32(0), text('mdirappl'), Buffer.alloc(9)]);
  return box('udta', fullBox('meta', 0, [handler, box('ilst', box('\xa9cmt', data))]));
}

function box(name: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(body.length + 8), Buffer.from(name, 'latin1'), body]);
}

/** A box with version 0 and flags. */
function fullBox(name: string, flags: number, ...parts: readonly (readonly Buffer[])[]): Buffer {
  return box(name, u32(flags), ...parts.flat());
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.from(value, 'utf8');
}
