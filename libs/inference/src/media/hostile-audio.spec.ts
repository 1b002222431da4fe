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

function recording(head: Buffer, filler: Buffer): CountedBytes {
  const whole = Buffer.alloc(LARGEST, filler);
  head.copy(whole);
  const pieces = Array.from({ length: LARGEST / PIECE }, (_, index) =>
    whole.subarray(index * PIECE, (index + 1) * PIECE),
  );
  return new CountedBytes(pieces);
}

const adts = Buffer.from([0xff, 0xf1, 0x50, 0x80, 0, 0xe0, 0xfc]);
const cluster = Buffer.from('1f43b67501ffffffffffffff', 'hex');
const webmHead = (info: string): Buffer =>
  Buffer.from(`18538067 01ffffffffffffff 1549a966 ${info}`.replaceAll(' ', ''), 'hex');

/** The most work that a file of each kind can ask for. */
const HOSTILE: readonly [string, AudioFormat, CountedBytes][] = [
  ['the shortest frames', 'aac', recording(Buffer.alloc(0), adts)],
  ['no frame behind many beginnings of one', 'mp3', recording(Buffer.alloc(0), Buffer.from([0xff, 0xfb, 0x90, 0, 0]))],
  ['empty chunks', 'wav', recording(Buffer.from('RIFF0000WAVE'), Buffer.from('junk\0\0\0\0'))],
  ['empty boxes', 'm4a', recording(Buffer.alloc(0), Buffer.from([0, 0, 0, 8, 0x66, 0x72, 0x65, 0x65]))],
  [
    'pages without a position',
    'ogg',
    recording(
      Buffer.from('OpusHead\u0001\u0001\0\0'),
      Buffer.from('OggS\0\0\xff\xff\xff\xff\xff\xff\xff\xff', 'latin1'),
    ),
  ],
  [
    'clusters of empty elements',
    'webm',
    recording(Buffer.concat([webmHead('80'), cluster]), Buffer.from('ec80', 'hex')),
  ],
  ['a duration of 25 MiB', 'webm', recording(webmHead('01ffffffffffffff 4489 01000000018fffff'), Buffer.from([0]))],
  ['a head of nothing', 'flac', recording(Buffer.from('fLaC'), Buffer.from([0]))],
  ['nothing but beginnings of frames', 'flac', recording(Buffer.from('fLaC'), Buffer.from('fff8c9080001', 'hex'))],
  ['pages within pages', 'ogg', recording(Buffer.alloc(0), Buffer.from(`OggS${'\0'.repeat(22)}\u00ff`, 'latin1'))],
  ['first pages only', 'ogg', recording(Buffer.alloc(0), Buffer.from(`OggS\0\u0002${'\0'.repeat(21)}`, 'latin1'))],
];

describe('the parsers of audio heads', () => {
  it.each(HOSTILE)('read little of a hostile file with %s (%s)', (_name, format, audio) => {
    audioLength(audio, format);
    expect(audio.reads).toBeLessThanOrEqual(MOST_READS);
    expect(audio.bytes).toBeLessThanOrEqual(MOST_BYTES);
    // One read is copied where it spans pieces.
    expect(audio.longest).toBeLessThanOrEqual(MIB + 16);
  });
});
