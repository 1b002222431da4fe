import { AudioBytes } from '../audio/audio-bytes';
import { audioLength } from './audio-duration';
import type { AudioFormat } from './audio-format';

const MIB = 1024 * 1024;
/** The largest upload, in the smallest pieces that the gateway keeps. */
const LARGEST = 25 * MIB;
const PIECE = 4 * 1024;
const MOST_READS = 300_000;
const MOST_BYTES = 32 * MIB;

/** Counts what a parser reads of a recording. */
class CountedBytes extends AudioBytes {
  reads = 0;
  bytes = 0;
  longest = 0;

  override slice(start: number, end: number): Buffer {
    const slice = super.slice(start, end);
    this.reads += 1;
    this.bytes += slice.length;
    this.longest = Math.max(this.longest, slice.length);
    return slice;
  }
}

interface Shape {
  readonly head: Buffer;
  readonly filler: Buffer;
}
const shape = (head: Buffer, filler: Buffer): Shape => ({ head, filler });

function recording({ head, filler }: Shape): CountedBytes {
  const whole = Buffer.alloc(LARGEST, filler);
  head.copy(whole);
  const pieces = Array.from({ length: LARGEST / PIECE }, (_, index) =>
    whole.subarray(index * PIECE, (index + 1) * PIECE),
  );
  return new CountedBytes(pieces);
}

/** A file whose head is filled with one thing, within nested boxes. */
function movie(kinds: readonly string[], filler: string): Shape {
  const whole = Buffer.alloc(2 * MIB, filler);
  kinds.forEach((kind, depth) => {
    whole.writeUInt32BE(whole.length - depth * 8, depth * 8);
    whole.write(kind, depth * 8 + 4, 'latin1');
  });
  const data = Buffer.from('\0\0\0\0mdat');
  return shape(Buffer.concat([whole, data]), Buffer.from([0]));
}

/** A page of Ogg that is full of packets of one byte. */
function pageOfBytes(byte: number): Buffer {
  const page = Buffer.alloc(27 + 255 * 2, byte);
  page.fill(0, 0, 27);
  page.write('OggS');
  page[26] = 255;
  return page.fill(1, 27, 27 + 255);
}
const vorbisHead = Buffer.concat([
  Buffer.from(`OggS\0\u0002${'\0'.repeat(20)}\u0001\u001e`, 'latin1'),
  Buffer.from('\u0001vorbis\0\0\0\0\u0001\u0044\u00ac\0\0', 'latin1'),
  Buffer.alloc(14, 0xb8),
]);
const mp3Start = Buffer.concat([Buffer.from('fffb9000', 'hex'), Buffer.alloc(413), Buffer.from('fffb9000', 'hex')]);

const adts = Buffer.from([0xff, 0xf1, 0x50, 0x80, 0, 0xe0, 0xfc]);
const cluster = Buffer.from('1f43b67501ffffffffffffff', 'hex');
const webmHead = (info: string): Buffer =>
  Buffer.from(`18538067 01ffffffffffffff 1549a966 ${info}`.replaceAll(' ', ''), 'hex');

/** The most work that a file of each kind can ask for. */
const HOSTILE: readonly [string, AudioFormat, Shape][] = [
  ['the shortest frames', 'aac', shape(Buffer.alloc(0), adts)],
  ['no frame behind many beginnings of one', 'mp3', shape(Buffer.alloc(0), Buffer.from([0xff, 0xfb, 0x90, 0, 0]))],
  ['heads of which none has a frame', 'mp3', shape(mp3Start, Buffer.from('fff310', 'hex'))],
  ['nothing but beginnings', 'mp3', shape(mp3Start, Buffer.from('ff', 'hex'))],
  ['the shortest frames of another kind', 'mp3', shape(mp3Start, Buffer.from(`fff314c4${'00'.repeat(20)}`, 'hex'))],
  ['a head that is only a beginning', 'aac', shape(Buffer.concat([adts, adts]), Buffer.from('fff150', 'hex'))],
  ['empty chunks', 'wav', shape(Buffer.from('RIFF0000WAVE'), Buffer.from('junk\0\0\0\0'))],
  ['empty boxes', 'm4a', shape(Buffer.alloc(0), Buffer.from([0, 0, 0, 8, 0x66, 0x72, 0x65, 0x65]))],
  [
    'pages without a position',
    'ogg',
    shape(Buffer.from('OpusHead\u0001\u0001\0\0'), Buffer.from('OggS\0\0\xff\xff\xff\xff\xff\xff\xff\xff', 'latin1')),
  ],
  ['clusters of empty elements', 'webm', shape(Buffer.concat([webmHead('80'), cluster]), Buffer.from('ec80', 'hex'))],
  ['a duration of 25 MiB', 'webm', shape(webmHead('01ffffffffffffff 4489 01000000018fffff'), Buffer.from([0]))],
  ['a head of nothing', 'flac', shape(Buffer.from('fLaC'), Buffer.from([0]))],
  ['the smallest elements', 'webm', shape(webmHead('80'), Buffer.from('ec80', 'hex'))],
  ['clusters in clusters', 'webm', shape(webmHead('80'), Buffer.from('1f43b675ff', 'hex'))],
  ['empty boxes in its head', 'm4a', movie(['moov'], '\0\0\0\u0008free')],
  ['the names of tables', 'm4a', movie(['moov', 'trak', 'mdia'], 'stts')],
  ['the smallest pages', 'ogg', shape(vorbisHead, Buffer.from(`OggS${'\0'.repeat(22)}\u0001\u0001`, 'latin1'))],
  ['packets that begin like a setup', 'ogg', shape(vorbisHead, pageOfBytes(5))],
  ['nothing but beginnings of frames', 'flac', shape(Buffer.from('fLaC'), Buffer.from('fff8c9080001', 'hex'))],
  ['pages within pages', 'ogg', shape(Buffer.alloc(0), Buffer.from(`OggS${'\0'.repeat(22)}\u00ff`, 'latin1'))],
  ['first pages only', 'ogg', shape(Buffer.alloc(0), Buffer.from(`OggS\0\u0002${'\0'.repeat(21)}`, 'latin1'))],
];

/** Returns the CPU time of `work` in milliseconds. */
function timeOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** Looking once at each byte of the largest upload. */
function lookAtEachByte(): void {
  const bytes = Buffer.alloc(LARGEST, 1);
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 1) sum = (sum * 31 + bytes[at]!) | 0;
  expect(sum).not.toBe(0);
}
/** The shorter of two runs, since the first may include compilation. */
const timeOfYardstick = (): number => Math.min(timeOf(lookAtEachByte), timeOf(lookAtEachByte));
const MOST_YARDSTICKS = 8;
let yardstickMs: number | undefined;

describe.each(HOSTILE)('a hostile file with %s (%s)', (_name, format, hostile) => {
  let audio: CountedBytes;
  let ms: number;

  beforeAll(() => {
    yardstickMs ??= timeOfYardstick();
    audio = recording(hostile);
    ms = timeOf(() => audioLength(audio, format));
  });

  afterAll(() => {
    audio = new CountedBytes([]);
  });

  it('is read little by the parser of its head', () => {
    expect(audio.reads).toBeLessThanOrEqual(MOST_READS);
    expect(audio.bytes).toBeLessThanOrEqual(MOST_BYTES);
    // One read is copied where it spans pieces.
    expect(audio.longest).toBeLessThanOrEqual(2 * MIB);
  });

  it('takes the parser of its head about as long as a look at each byte', () => {
    // A slow run may have included compilation, or the machine become slower: both are measured again.
    const again = (): number => timeOf(() => audioLength(audio, format)) / timeOfYardstick();
    const ratio = ms / yardstickMs!;
    expect(ratio < MOST_YARDSTICKS ? ratio : Math.min(again(), again())).toBeLessThan(MOST_YARDSTICKS);
  });
});
