import { JPEG_PICTURE, SILENT_AAC, aacConfiguration, numbers, repeated } from './coded-frames';
import { mp4Box, words } from './mp4-files';

/** MP4 with all that decoders ask for, whose parts need not agree. */

/** The descriptors of a stream whose decoder has this number. */
export function esdsBox(decoder: number, configuration: Buffer): Buffer {
  const descriptor = (tag: number, ...content: readonly Buffer[]): Buffer => {
    const bytes = Buffer.concat(content);
    return Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
  };
  const head = Buffer.alloc(13);
  head.set([decoder, 0x15]);
  const stream = [descriptor(4, head, descriptor(5, configuration)), descriptor(6, Buffer.from([2]))];
  return mp4Box('esds', words(0), descriptor(3, Buffer.from([0, 1, 0]), ...stream));
}

export function soundEntry(codec: string, rate: number, ...boxes: readonly Buffer[]): Buffer {
  const fields = Buffer.alloc(28);
  fields.writeUInt16BE(1, 6);
  fields.writeUInt16BE(1, 16);
  fields.writeUInt16BE(16, 18);
  fields.writeUInt16BE(rate, 24);
  return mp4Box(codec, fields, ...boxes);
}

export const AAC_ENTRY = soundEntry('mp4a', 16_000, esdsBox(0x40, aacConfiguration(16_000)));

function pictureEntry(codec: string): Buffer {
  const fields = Buffer.alloc(78);
  fields.writeUInt16BE(1, 6);
  fields.writeUInt16BE(16, 24);
  fields.writeUInt16BE(16, 26);
  fields.writeUInt16BE(1, 40);
  fields.writeUInt16BE(24, 74);
  return mp4Box(codec, fields);
}

export interface PlayedTrack {
  /** Sound when absent. */
  readonly handler?: string;
  /** Of a second handler, among the parts of the media. */
  readonly innerHandler?: string;
  readonly entry: Buffer;
  readonly samples: readonly Buffer[];
  /** Ticks of a second, and of a sample. */
  readonly time: readonly [rate: number, ticks: number];
}

function handlerBox(kind: string): Buffer {
  return mp4Box('hdlr', words(0, 0), Buffer.from(kind), Buffer.alloc(12), Buffer.from('x\0'));
}

function trackBox(
  { handler = 'soun', innerHandler, entry, samples, time }: PlayedTrack,
  id: number,
  at: number,
): Buffer {
  const [rate, ticks] = time;
  const count = samples.length;
  const table = (...row: readonly number[]): Buffer => (count === 0 ? words(0, 0) : words(0, 1, ...row));
  const tables = mp4Box(
    'stbl',
    mp4Box('stsd', words(0, 1), entry),
    mp4Box('stts', table(count, ticks)),
    mp4Box('stsc', table(1, count, 1)),
    mp4Box('stsz', words(0, 0, count, ...samples.map(({ length }) => length))),
    mp4Box('stco', table(at)),
  );
  const inner = innerHandler === undefined ? [] : [handlerBox(innerHandler)];
  const media = mp4Box(
    'mdia',
    mp4Box('mdhd', words(0, 0, 0, rate, count * ticks, 0x55c4_0000)),
    handlerBox(handler),
    mp4Box('minf', ...inner, mp4Box('smhd', words(0, 0)), tables),
  );
  return mp4Box('trak', mp4Box('tkhd', words(7, 0, 0, id, 0, 1_000), Buffer.alloc(60)), media);
}

const SECOND = mp4Box('mvhd', words(0, 0, 0, 1_000, 1_000, 0x1_0000), Buffer.alloc(76));
const TYPE = mp4Box('ftyp', Buffer.from('isom'), words(0x200), Buffer.from('isommp42'));

/** A movie that states one second. */
export function playedMp4(...tracks: readonly PlayedTrack[]): Buffer {
  let at = TYPE.length + 8;
  const boxes = tracks.map((track, index) => {
    const made = trackBox(track, index + 1, at);
    at += track.samples.reduce((sum, { length }) => sum + length, 0);
    return made;
  });
  const data = mp4Box('mdat', ...tracks.flatMap(({ samples }) => samples));
  return Buffer.concat([TYPE, data, mp4Box('moov', SECOND, ...boxes)]);
}

/** A sound of AAC of 16 kHz. */
export function plainMp4(blocks: number): Buffer {
  return playedMp4({ entry: AAC_ENTRY, samples: repeated(SILENT_AAC, blocks), time: [16_000, 1_024] });
}

/** A track of titles without any words. */
export const TITLES: PlayedTrack = {
  handler: 'text',
  entry: mp4Box('tx3g', Buffer.alloc(40)),
  samples: [numbers(0)],
  time: [1_000, 10],
};

const BASE_IS_FRAGMENT = 0x02_0000;
const HAS_TICKS = 0x08;
const HAS_PLACE_AND_SIZES = 0x201;

export interface FragmentTold {
  readonly pictures: number;
  /** The head of the fragment says that it has ticks, and ends before them. */
  readonly isCut?: boolean;
  /** The defaults of the movie end before their ticks. */
  readonly hasShortDefaults?: boolean;
}

const MINUTE_IN_TICKS = 60_000;

/**
 * A film of a picture a minute in one fragment. Behind a box that is cut follows one whose size is a minute of ticks,
 * which FFmpeg reads as the ticks.
 */
export function filmInFragment({ pictures, isCut, hasShortDefaults }: FragmentTold): Buffer {
  const track = trackBox({ handler: 'vide', entry: pictureEntry('jpeg'), samples: [], time: [1_000, 2] }, 1, 0);
  const filler = mp4Box('free', Buffer.alloc(MINUTE_IN_TICKS - 8));
  const defaults =
    hasShortDefaults === true
      ? [mp4Box('trex', words(0, 1, 1)), filler]
      : [mp4Box('trex', words(0, 1, 1, isCut === true ? 1 : MINUTE_IN_TICKS, 0, 0))];
  const movie = mp4Box('moov', SECOND, track, mp4Box('mvex', ...defaults));
  const flags = hasShortDefaults === true ? BASE_IS_FRAGMENT : BASE_IS_FRAGMENT | HAS_TICKS;
  const ticks = isCut === true || hasShortDefaults === true ? [] : [MINUTE_IN_TICKS];
  const sizes = Array<number>(pictures).fill(JPEG_PICTURE.length);
  const fragment = (place: number): Buffer => {
    const run = mp4Box('trun', words(HAS_PLACE_AND_SIZES, pictures, place, ...sizes));
    const head = mp4Box('tfhd', words(flags, 1, ...ticks));
    const parts = [head, filler, mp4Box('tfdt', words(0, 0)), run];
    return mp4Box('moof', mp4Box('mfhd', words(0, 1)), mp4Box('traf', ...parts));
  };
  const data = mp4Box('mdat', ...repeated(JPEG_PICTURE, pictures));
  return Buffer.concat([TYPE, movie, fragment(fragment(0).length + 8), data]);
}
