export function mp4Box(kind: string, ...content: readonly Buffer[]): Buffer {
  const length = content.reduce((sum, one) => sum + one.length, 8);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(length);
  head.write(kind, 4, 'latin1');
  return Buffer.concat([head, ...content]);
}

/** Numbers of 32 bits. */
export function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => bytes.writeUInt32BE(value >>> 0, at * 4));
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
  /** Seconds by which a picture is shown after it is decoded; before it if negative. */
  readonly lateSeconds?: number;
  /** Codec and handler of one more track. */
  readonly more?: readonly [codec: string, handler: string];
  /** With the list of titles that common encoders write, which has a handler of its own. */
  readonly hasTitles?: boolean;
  /** In a sample of sound; one when absent. */
  readonly blocks?: number;
}

/** Descriptors of a stream, of its decoder, and of AAC at 24 kHz. */
const ESDS_24_KHZ = Buffer.from(
  '00000000 0316000000 041140150000000000000000000000 05021308'.replaceAll(' ', ''),
  'hex',
);

/** One block of AAC: a channel of silence. */
export const SILENT_BLOCK = Buffer.from('00000007', 'hex');

/** @param bytes about so many */
function silence(bytes: number): Buffer {
  return Buffer.alloc(Math.max(SILENT_BLOCK.length, bytes - (bytes % SILENT_BLOCK.length)), SILENT_BLOCK);
}

interface TrackTold {
  readonly codec?: string;
  readonly lateSeconds?: number;
  /** Bytes of samples, which all chunks share. */
  readonly data?: { readonly start: number; readonly bytes: number };
  readonly sampleBytes?: number;
}

function track(
  handler: string,
  rate: number,
  [count, ticks]: readonly [number, number],
  {
    codec = handler === 'soun' ? 'mp4a' : 'avc1',
    lateSeconds = 0,
    data = { start: 0, bytes: 0 },
    sampleBytes = SILENT_BLOCK.length,
  }: TrackTold = {},
): Buffer {
  const inChunk = Math.max(1, Math.floor(data.bytes / sampleBytes));
  const chunks = Array<number>(Math.ceil(count / inChunk)).fill(data.start);
  const entry = Buffer.alloc(36);
  entry.write(codec, 4, 'latin1');
  if (handler === 'soun') entry.writeUInt16BE(rate, 32);
  const entries = codec === 'mp4a' ? [entry, mp4Box('esds', ESDS_24_KHZ)] : [entry];
  const samples = mp4Box(
    'stbl',
    mp4Box('stsd', words(0, 1), ...entries),
    mp4Box('stts', words(0, 1, count, ticks)),
    mp4Box('stsz', words(0, sampleBytes, count)),
    mp4Box('stsc', words(0, 1, 1, inChunk, 1)),
    mp4Box('stco', words(0, chunks.length, ...chunks)),
    ...(lateSeconds !== 0 ? [mp4Box('ctts', words(0, 1, 1, lateSeconds * rate))] : []),
  );
  const head = mp4Box('mdhd', words(0, 0, 0, rate, count * ticks, 0));
  const kind = mp4Box('hdlr', words(0, 0), Buffer.from(handler), Buffer.alloc(12));
  return mp4Box('trak', mp4Box('mdia', head, kind, mp4Box('minf', samples)));
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
  blocks = 1,
}: Mp4Told): Buffer {
  const header = mp4Box(
    'mvhd',
    Buffer.concat([words(0, 0, 0, 1_000, Math.round(toldSeconds * 1_000)), Buffer.alloc(80)]),
  );
  const type = mp4Box('ftyp', Buffer.from(isFilm ? 'isom' : 'M4A '));
  const data = silence(bytes);
  const place = { data: { start: type.length + 8, bytes: data.length } };
  const sound = track('soun', 24_000, [Math.round((seconds * 24_000) / 1_024), toldTicks], {
    ...place,
    sampleBytes: blocks * SILENT_BLOCK.length,
  });
  const pictures = track('vide', 1_000, [Math.round(seconds * 10), 100], { lateSeconds });
  const tracks = isFilm ? [pictures, sound] : [sound];
  if (more !== undefined) {
    tracks.push(
      track(more[1], 1_000, [1, 1_000 * Math.round(seconds)], { ...place, codec: more[0], sampleBytes: data.length }),
    );
  }
  const fragments = isFragmented === true ? [mp4Box('moof', Buffer.alloc(50))] : [];
  const titles = mp4Box(
    'udta',
    mp4Box('meta', words(0), mp4Box('hdlr', words(0, 0), Buffer.from('mdirappl'), words(0, 0))),
  );
  const head = mp4Box('moov', header, ...tracks, ...(hasTitles === true ? [titles] : []));
  return Buffer.concat([type, mp4Box('mdat', data), head, ...fragments]);
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
const TFHD_BASE_IS_FRAGMENT = 0x02_0000;
const TRUN_PLACE = 0x01;
const TRUN_TICKS = 0x100;
const TRUN_OFFSETS = 0x800;

/** A film or AAC of 24 kHz whose samples are all in fragments, as browsers and streams write them. */
export function fragmentedMp4({ fragments, isFilm, times, flaw, lateSeconds }: FragmentedTold): Buffer {
  const [handler, rate, count, ticks] = isFilm
    ? (['vide', 1_000, 25, 40] as const)
    : (['soun', 24_000, 24_000 / 1_024, 1_024] as const);
  const samples = Math.round(count);
  const id = mp4Box('tkhd', words(0, 0, 0, 1), Buffer.alloc(68));
  const empty = track(handler, rate, [0, 0]).subarray(8);
  const usual = mp4Box('trex', words(0, 1, 1, times === 'movie' ? ticks : 0, SILENT_BLOCK.length, 0));
  const extend = mp4Box('mvex', usual, ...(flaw === 'two defaults' ? [usual] : []));
  const header = mp4Box('mvhd', Buffer.concat([words(0, 0, 0, 1_000, 0), Buffer.alloc(80)]));
  const head = mp4Box('moov', header, mp4Box('trak', id, empty), extend);
  const moof = (index: number, place: number): Buffer => {
    const own = times === 'fragment' ? [TFHD_BASE_IS_FRAGMENT | TFHD_TICKS, 1, ticks] : [TFHD_BASE_IS_FRAGMENT, 1];
    const start = mp4Box('tfdt', words(flaw === 'start in an unknown form' ? 0x0200_0000 : 0, index * samples * ticks));
    const each = times === 'samples' ? Array<number>(samples).fill(ticks) : [];
    const table = [TRUN_PLACE | (times === 'samples' ? TRUN_TICKS : 0), samples, place, ...each];
    const run = lateSeconds === undefined ? table : [TRUN_PLACE | TRUN_OFFSETS, 1, place, lateSeconds * rate];
    const starts = flaw === 'two starts' ? [start, start] : [start];
    const parts = [mp4Box('tfhd', words(...own)), ...starts, mp4Box('trun', words(...run))];
    return mp4Box('moof', mp4Box('mfhd', words(0, index + 1)), mp4Box('traf', ...parts));
  };
  const pieces = Array.from({ length: fragments }, (_, index) => {
    const data = mp4Box('mdat', silence(samples * SILENT_BLOCK.length));
    return Buffer.concat([moof(index, moof(index, 0).length + 8), data]);
  });
  return Buffer.concat([mp4Box('ftyp', Buffer.from('isom')), head, ...pieces]);
}
