import { deflateSync } from 'node:zlib';

/** Pictures, sounds and films as they matter to what measures them: true heads and frames, and any contents. */

function chunkOfPng(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length);
  head.write(name, 4, 'latin1');
  return Buffer.concat([head, content, Buffer.alloc(4)]);
}

/** A picture of one color. */
export function pngFile(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([1, 0], 8);
  const rows = deflateSync(Buffer.alloc(Math.ceil(width / 8) * Math.min(height, 1_000) + height));
  const chunks = [chunkOfPng('IHDR', header), chunkOfPng('IDAT', rows), chunkOfPng('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks]);
}

function segment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}

/** A photo with so many bytes of settings of the camera in front of its size. */
export function jpegFile(width: number, height: number, settingsBytes = 0): Buffer {
  const settings: Buffer[] = [];
  for (let left = settingsBytes; left > 0; left -= 60_000) {
    settings.push(segment(0xe1, Buffer.alloc(Math.min(left, 60_000))));
  }
  const frame = Buffer.from([8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  frame.writeUInt16BE(height, 1);
  frame.writeUInt16BE(width, 3);
  const tables = [segment(0xdb, Buffer.alloc(65)), segment(0xc2, frame), segment(0xc4, Buffer.alloc(20))];
  return Buffer.concat([
    Buffer.from('ffd8', 'hex'),
    ...settings,
    ...tables,
    segment(0xda, Buffer.alloc(6)),
    Buffer.alloc(900),
  ]);
}

/** A GIF whose screen may be smaller than its frame. */
export function gifFile(width: number, height: number, screen = { width, height }): Buffer {
  const head = Buffer.from('GIF89a\0\0\0\0\x80\0\0', 'latin1');
  head.writeUInt16LE(screen.width, 6);
  head.writeUInt16LE(screen.height, 8);
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  frame.writeUInt16LE(width, 5);
  frame.writeUInt16LE(height, 7);
  return Buffer.concat([head, Buffer.alloc(6), Buffer.from('21f9040000000000', 'hex'), frame, Buffer.alloc(300)]);
}

export function webpFile(width: number, height: number, kind: 'VP8 ' | 'VP8L' | 'VP8X'): Buffer {
  const file = Buffer.alloc(600);
  file.write(`RIFF\0\0\0\0WEBP${kind}`, 0, 'latin1');
  if (kind === 'VP8 ') {
    file.writeUInt16LE(width, 26);
    file.writeUInt16LE(height, 28);
  } else if (kind === 'VP8L') {
    file[20] = 0x2f;
    file.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 21);
  } else {
    file.writeUIntLE(width - 1, 24, 3);
    file.writeUIntLE(height - 1, 27, 3);
  }
  return file;
}

/** MPEG 2 layer 3 of 24 kHz: 24 ms a frame. */
const MP3_BITRATES = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

export function mp3File(seconds: number, kilobits: number): Buffer {
  const bytes = Math.floor((72 * kilobits * 1_000) / 24_000);
  const frame = Buffer.alloc(bytes);
  frame.set([0xff, 0xf3, (MP3_BITRATES.indexOf(kilobits) << 4) | 0x04, 0xc0]);
  return Buffer.alloc(bytes * Math.round(seconds / 0.024), frame);
}

function box(kind: string, ...content: readonly Buffer[]): Buffer {
  const length = content.reduce((sum, one) => sum + one.length, 8);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(length);
  head.write(kind, 4, 'latin1');
  return Buffer.concat([head, ...content]);
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => bytes.writeUInt32BE(value, at * 4));
  return bytes;
}

export interface Mp4Told {
  readonly seconds: number;
  readonly bytes: number;
  /** A film with sound; else sound alone. */
  readonly isFilm: boolean;
  /** What the head of the movie says; the truth when absent. */
  readonly toldSeconds?: number;
  /** What the table of times says of each frame of sound; the truth when absent. */
  readonly toldTicks?: number;
  /** In fragments that say nothing. */
  readonly isFragmented?: boolean;
  /** Seconds by which the last picture is shown after it is decoded. */
  readonly lateSeconds?: number;
  /** Codec and handler of one more track. */
  readonly more?: readonly [codec: string, handler: string];
  /** With the list of titles that common encoders write, which has a handler of its own. */
  readonly hasTitles?: boolean;
}

/** Descriptors of a stream, of its decoder, and of AAC at 24 kHz. */
const ESDS_24_KHZ = Buffer.from(
  '00000000 0316000000 041140150000000000000000000000 05021308'.replaceAll(' ', ''),
  'hex',
);

function track(
  handler: string,
  rate: number,
  [count, ticks]: readonly [number, number],
  { codec = handler === 'soun' ? 'mp4a' : 'avc1', lateSeconds = 0 } = {},
): Buffer {
  const entry = Buffer.alloc(36);
  entry.write(codec, 4, 'latin1');
  if (handler === 'soun') entry.writeUInt16BE(rate, 32);
  const entries = handler === 'soun' ? [entry, box('esds', ESDS_24_KHZ)] : [entry];
  const samples = box(
    'stbl',
    box('stsd', words(0, 1), ...entries),
    box('stts', words(0, 1, count, ticks)),
    box('stsz', words(0, 1, count)),
    ...(lateSeconds > 0 ? [box('ctts', words(0, 1, 1, lateSeconds * rate))] : []),
  );
  const head = box('mdhd', words(0, 0, 0, rate, count * ticks, 0));
  const kind = box('hdlr', words(0, 0), Buffer.from(handler), Buffer.alloc(12));
  return box('trak', box('mdia', head, kind, box('minf', samples)));
}

/** AAC of 24 kHz and a film of 10 pictures a second. */
export function mp4File({
  seconds,
  bytes,
  isFilm,
  toldSeconds = seconds,
  toldTicks = 1_024,
  isFragmented,
  hasTitles,
  lateSeconds,
  more,
}: Mp4Told): Buffer {
  const header = box('mvhd', Buffer.concat([words(0, 0, 0, 1_000, Math.round(toldSeconds * 1_000)), Buffer.alloc(80)]));
  const sound = track('soun', 24_000, [Math.round((seconds * 24_000) / 1_024), toldTicks]);
  const pictures = track('vide', 1_000, [Math.round(seconds * 10), 100], { lateSeconds });
  const tracks = isFilm ? [pictures, sound] : [sound];
  if (more !== undefined) tracks.push(track(more[1], 1_000, [1, 1_000 * Math.round(seconds)], { codec: more[0] }));
  const type = box('ftyp', Buffer.from(isFilm ? 'isom' : 'M4A '));
  const fragments = isFragmented === true ? [box('moof', Buffer.alloc(50))] : [];
  const titles = box('udta', box('meta', words(0), box('hdlr', words(0, 0), Buffer.from('mdirappl'), words(0, 0))));
  const head = box('moov', header, ...tracks, ...(hasTitles === true ? [titles] : []));
  return Buffer.concat([type, box('mdat', Buffer.alloc(bytes)), head, ...fragments]);
}

export interface FragmentedTold {
  /** Each of a second, of 25 pictures or of frames of sound. */
  readonly fragments: number;
  readonly isFilm: boolean;
  /** Where the times of samples are: in the head of the movie, of each fragment, or with each sample. */
  readonly times: 'movie' | 'fragment' | 'samples';
  readonly flaw?: 'two starts' | 'start in an unknown form' | 'two defaults';
  /** All samples at once, and the last is shown so many seconds later. */
  readonly lateSeconds?: number;
}

const TFHD_TICKS = 0x08;
const TRUN_TICKS = 0x100;
const TRUN_OFFSETS = 0x800;

function timesOf(times: FragmentedTold['times'], samples: number, ticks: number): Buffer {
  if (times !== 'samples') return words(0, samples);
  return words(TRUN_TICKS, samples, ...Array<number>(samples).fill(ticks));
}

/** A film or AAC of 24 kHz whose samples are all in fragments, as browsers and streams write them. */
export function fragmentedMp4({ fragments, isFilm, times, flaw, lateSeconds }: FragmentedTold): Buffer {
  const [handler, rate, count, ticks] = isFilm
    ? (['vide', 1_000, 25, 40] as const)
    : (['soun', 24_000, 24_000 / 1_024, 1_024] as const);
  const samples = Math.round(count);
  const id = box('tkhd', words(0, 0, 0, 1), Buffer.alloc(68));
  const empty = track(handler, rate, [0, 0]).subarray(8);
  const usual = box('trex', words(0, 1, 1, times === 'movie' ? ticks : 0, 0, 0));
  const extend = box('mvex', usual, ...(flaw === 'two defaults' ? [usual] : []));
  const header = box('mvhd', Buffer.concat([words(0, 0, 0, 1_000, 0), Buffer.alloc(80)]));
  const head = box('moov', header, box('trak', id, empty), extend);
  const moof = (_: unknown, index: number): Buffer => {
    const own = times === 'fragment' ? words(TFHD_TICKS, 1, ticks) : words(0, 1);
    const start = box('tfdt', words(flaw === 'start in an unknown form' ? 0x0200_0000 : 0, index * samples * ticks));
    const run = box(
      'trun',
      lateSeconds === undefined ? timesOf(times, samples, ticks) : words(TRUN_OFFSETS, 1, lateSeconds * rate),
    );
    const starts = flaw === 'two starts' ? [start, start] : [start];
    return box('moof', box('mfhd', words(0, index + 1)), box('traf', box('tfhd', own), ...starts, run));
  };
  const pieces = Array.from({ length: fragments }, moof).flatMap((one) => [one, box('mdat', Buffer.alloc(60))]);
  return Buffer.concat([box('ftyp', Buffer.from('isom')), head, ...pieces]);
}

function element(id: string, content: Buffer): Buffer {
  const size = Buffer.alloc(8);
  size.writeUIntBE(content.length, 2, 6);
  size[0] = 0x01;
  return Buffer.concat([Buffer.from(id, 'hex'), size, content]);
}

export interface WebmTold {
  /** The times of its clusters are not in their order. */
  readonly isShuffled?: boolean;
  readonly codec?: string;
  readonly packet?: Buffer;
  /** What each block says; the truth when absent. */
  readonly toldSeconds?: number;
  readonly isLaced?: boolean;
  /** Of the number in which a cluster states its time; 4 when absent. */
  readonly timeBytes?: number;
  /** By which the times of the track are multiplied. */
  readonly trackScale?: number;
}

const OPUS_60_MS = 0x18;
const SECONDS_OF_PACKET = 0.06;

/** A recording of a browser, which has no length in its head: packets of 60 ms, in clusters of some seconds. */
export function webmFile(seconds: number, bytes: number, told: WebmTold = {}): Buffer {
  const count = Math.round(seconds / SECONDS_OF_PACKET);
  const packet = told.packet ?? Buffer.alloc(Math.max(1, Math.floor(bytes / count) - 14), OPUS_60_MS);
  const clusters: Buffer[] = [];
  for (let from = 0; from < count; from += PACKETS_OF_CLUSTER) {
    const packets = Math.min(PACKETS_OF_CLUSTER, count - from);
    const block = (_: unknown, at: number): Buffer => {
      const time = told.toldSeconds === undefined ? at * SECONDS_OF_PACKET * 1_000 : 0;
      const head = Buffer.from([0x81, 0, 0, told.isLaced === true ? 0x02 : 0]);
      head.writeInt16BE(Math.round(time), 1);
      return element('a3', Buffer.concat([head, packet]));
    };
    const at = clusterTime(from, told);
    clusters.push(element('1f43b675', Buffer.concat([element('e7', at), ...Array.from({ length: packets }, block)])));
  }
  const duration = floatOf((told.toldSeconds ?? 0) * 1_000);
  const info = [element('2ad7b1', Buffer.from([0x0f, 0x42, 0x40])), element('4489', duration)];
  const codec = Buffer.from(told.codec ?? 'A_OPUS');
  const track = [
    element('d7', Buffer.from([1])),
    element('83', Buffer.from([codec[0] === 0x56 ? 1 : 2])),
    element('86', codec),
    ...(told.trackScale === undefined ? [] : [element('23314f', floatOf(told.trackScale))]),
  ];
  const parts = [
    element('1549a966', Buffer.concat(info)),
    element('1654ae6b', element('ae', Buffer.concat(track))),
    ...(told.isShuffled === true ? clusters.toReversed() : clusters),
  ];
  return Buffer.concat([element('1a45dfa3', Buffer.alloc(4)), element('18538067', Buffer.concat(parts))]);
}

function clusterTime(packets: number, { timeBytes = 4, toldSeconds }: WebmTold): Buffer {
  const bytes = Buffer.alloc(timeBytes);
  bytes.writeUInt32BE(toldSeconds === undefined ? Math.round(packets * SECONDS_OF_PACKET * 1_000) : 0, timeBytes - 4);
  return bytes;
}

function floatOf(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}

const PACKETS_OF_CLUSTER = 80;

/** An Ogg page with packets of less than 255 bytes. */
export function oggPage(packets: readonly Buffer[], position: bigint, { isFirst = false, serial = 7 } = {}): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS');
  head[5] = isFirst ? 2 : 0;
  head.writeBigInt64LE(position, 6);
  head.writeUInt32LE(serial, 14);
  head[26] = packets.length;
  return Buffer.concat([head, Buffer.from(packets.map((packet) => packet.length)), ...packets]);
}

export function opusHead(skipped = 0): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead\u0001\u0001');
  head.writeUInt16LE(skipped, 10);
  return head;
}

export function opusFile(seconds: number, bytes: number): Buffer {
  const last = oggPage([Buffer.from([0])], BigInt(Math.round(seconds * 48_000)));
  return Buffer.concat([oggPage([opusHead()], 0n, { isFirst: true }), Buffer.alloc(bytes), last]);
}
