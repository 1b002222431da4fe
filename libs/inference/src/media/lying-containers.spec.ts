import {
  fragmentedMp4,
  mp3File,
  mp4Box,
  mp4File,
  opusFile,
  webmFile,
  type FragmentedTold,
  type Mp4Told,
} from '../testing';
import { AudioBytes } from '../audio/audio-bytes';
import { audioLength } from './audio-duration';
import type { AudioFormat } from './audio-format';

const MINUTE = 60;
/** 12,000 frames. */
const M4A_SECONDS = 512;
const m4a = (told: Partial<Mp4Told> = {}): Buffer =>
  mp4File({ seconds: M4A_SECONDS, bytes: 9_000, isFilm: false, ...told });

/** Files by what they say, and how long decoders play them. */
const MINUTES: readonly (readonly [string, AudioFormat, Buffer, number])[] = [
  ['A-law whose head says 6,000 bits', 'wav', wave({ codec: 6, bits: 6_000 }), MINUTE],
  ['mu-law whose head says 6,000 bits', 'wav', wave({ codec: 7, bits: 6_000 }), MINUTE],
  ['extensible mu-law whose head says 6,000 bits', 'wav', wave({ codec: 0xfffe, sub: 7, bits: 6_000 }), MINUTE],
  ['PCM of 64 bits, of which 8 are used', 'wav', wave({ codec: 0xfffe, sub: 1, bits: 64, used: 8 }), MINUTE],
  ['PCM in a chunk of size 0', 'wav', wave({ codec: 1, bits: 8, size: 0 }), MINUTE],
  ['PCM in a chunk of unknown size', 'wav', wave({ codec: 1, bits: 8, size: 0xffff_ffff }), MINUTE],
  ['Opus in WebM that says no time', 'webm', webmFile(MINUTE, 60_000, { toldSeconds: 0 }), MINUTE],
  ['Opus in WebM that says its time', 'webm', webmFile(MINUTE, 60_000), MINUTE],
];

const DAY = 24 * 3_600;
const SHORT = mp4File({ seconds: 1, bytes: 90, isFilm: true });
const ID3 = Buffer.from('ID3\u0004\0\0\0\0\0\0', 'latin1');

/** Of these the bytes or packets give no more than a bound, or nothing does: then they are held for a day. */
const LONG_HELD: readonly (readonly [string, AudioFormat, Buffer, number])[] = [
  ['extensible MP3 of 8 kbit/s', 'wav', wave({ codec: 0xfffe, sub: 0x55, bits: 6_000, byteRate: 8_000 }), 480],
  ['PCM of 6,000 bits', 'wav', wave({ codec: 1, bits: 6_000 }), DAY],
  ['ADPCM of 8 kHz', 'wav', wave({ codec: 0x11, bits: 4, byteRate: 4_000 }), 480],
  ['a codec in WAVE that nobody knows', 'wav', wave({ codec: 0x1234, bits: 4, byteRate: 4_000 }), DAY],
  [
    'laced Opus in WebM',
    'webm',
    webmFile(MINUTE, 0, { isLaced: true, packet: Buffer.from([9, 0x18]), toldSeconds: 0 }),
    1_200,
  ],
  ['silent Vorbis in WebM', 'webm', webmFile(MINUTE, 0, { codec: 'A_VORBIS', packet: Buffer.from([0]) }), DAY],
  ['a codec in WebM that nobody knows', 'webm', webmFile(MINUTE, 0, { codec: 'A_NEW', packet: Buffer.from([0]) }), DAY],
  ['Opus in MP4', 'm4a', encoded('Opus'), 12_000 * 0.12],
  ['a codec in MP4 that nobody knows', 'm4a', encoded('sqcp'), DAY],
  ['ALAC in MP4', 'm4a', encoded('alac'), DAY],
  // 12,000 samples of 4 bytes.
  ['AAC in MP4 whose configuration is of MP3', 'm4a', changed('041140', '041169'), (48_000 * 8) / 6_000],
  ['AAC in MP4 whose configuration is of AC-3', 'm4a', changed('041140', '0411a5'), DAY],
  ['samples of MP3 in MP4 that are the same bytes', 'm4a', encoded('.mp3', { blocks: 2_000 }), DAY],
  ['MP4 whose table of times has one sample', 'm4a', shortTimes(), M4A_SECONDS],
  [
    'MP4 in fragments without tables',
    'm4a',
    mp4File({ seconds: 1, bytes: 60_000, isFilm: false, isFragmented: true }),
    DAY,
  ],
  ['MP4 in fragments with two starts', 'm4a', fragments({ flaw: 'two starts' }), DAY],
  ['MP4 in fragments with a start in an unknown form', 'm4a', fragments({ flaw: 'start in an unknown form' }), DAY],
  ['MP4 in fragments with two defaults', 'm4a', fragments({ flaw: 'two defaults' }), DAY],
  ['MP4 in fragments with a late picture', 'm4a', fragments({ lateSeconds: 3_600 }), 3_600],
  ['MP4 with a late picture', 'm4a', mp4File({ seconds: 1, bytes: 90, isFilm: true, lateSeconds: 3_600 }), 3_600],
  [
    'MP4 with MP3 in one sample',
    'm4a',
    mp4File({ seconds: 1, bytes: 60_000, isFilm: false, more: ['.mp3', 'soun'] }),
    80,
  ],
  [
    'MP4 with sound that is called titles',
    'm4a',
    mp4File({ seconds: 60, bytes: 90, isFilm: false, more: ['zzzz', 'text'] }),
    DAY,
  ],
  ['WebM with a long time of a cluster', 'webm', webmFile(MINUTE, 60_000, { timeBytes: 8 }), DAY],
  ['WebM whose track stretches its times', 'webm', webmFile(MINUTE, 60_000, { trackScale: 60 }), DAY],
  ['MP3 behind a tag and Opus', 'mp3', Buffer.concat([ID3, opusFile(9, 90), mp3File(60, 64)]), DAY],
  ['MP4 with a time scale that decoders read as 1', 'm4a', timescale(0x8000_0000), DAY],
  ['MP4 with an early picture', 'm4a', mp4File({ seconds: 1, bytes: 90, isFilm: true, lateSeconds: -3_600 }), 3_600],
  ['MP4 with another head in a box for notes', 'm4a', Buffer.concat([hidden('udta'), SHORT]), DAY],
  ['MP4 with another head in free space', 'm4a', Buffer.concat([hidden('free'), SHORT]), DAY],
  ['MP4 with a table outside of the tables', 'm4a', Buffer.concat([SHORT, mp4Box('meta', mp4Box('ctts'))]), DAY],
  ['MP4 whose index says when its parts begin', 'm4a', Buffer.concat([SHORT, index(3_600)]), 3_600],
  ['MP4 with two tables of sizes', 'm4a', strayTable(), DAY],
  ['MP4 that plays all of it three times', 'm4a', edited(3), 3 * M4A_SECONDS],
  ['MP4 that begins with an hour of nothing', 'm4a', edited(1, [3_600_000, -1, 0x1_0000]), 3_600],
  ['MP4 with a picture that stands for an hour', 'm4a', edited(1, [3_600_000, 0, 0]), 3_600],
];

/** The head of a film of an hour. */
function hidden(within: string): Buffer {
  const film = mp4File({ seconds: 3_600, bytes: 0, isFilm: true });
  return mp4Box(within, film.subarray(film.indexOf('moov') - 4));
}

/** An index of one part, which is the last second. */
function index(endSeconds: number): Buffer {
  const content = Buffer.alloc(36);
  content.writeUInt32BE(1_000, 8);
  content.writeUInt32BE((endSeconds - 1) * 1_000, 12);
  content.writeUInt16BE(1, 22);
  content.writeUInt32BE(1_000, 28);
  return mp4Box('sidx', content);
}

function fragments(told: Partial<FragmentedTold>): Buffer {
  return fragmentedMp4({ fragments: 1, isFilm: true, times: 'movie', ...told });
}

interface WaveTold {
  readonly codec: number;
  readonly sub?: number;
  readonly bits: number;
  readonly used?: number;
  readonly byteRate?: number;
  readonly size?: number;
}

/** A minute of bytes at 8 kHz. */
function wave({ codec, sub = 0, bits, used = 0, byteRate = 8_000, size = MINUTE * 8_000 }: WaveTold): Buffer {
  const head = Buffer.alloc(40);
  for (const [value, at] of [
    [codec, 0],
    [1, 2],
    [1, 12],
    [bits, 14],
    [22, 16],
    [used, 18],
    [sub, 24],
  ] as const) {
    head.writeUInt16LE(value, at);
  }
  head.writeUInt32LE(8_000, 4);
  head.writeUInt32LE(byteRate, 8);
  Buffer.from('000000001000800000aa00389b71', 'hex').copy(head, 26);
  const sizes = Buffer.alloc(4);
  sizes.writeUInt32LE(size);
  const begin = Buffer.from('RIFF\0\0\0\0WAVEfmt \u0028\0\0\0', 'latin1');
  return Buffer.concat([begin, head, Buffer.from('data'), sizes, Buffer.alloc(MINUTE * 8_000)]);
}

function encoded(codec: string, told: Partial<Mp4Told> = {}): Buffer {
  const file = m4a({ toldSeconds: 1, toldTicks: 2, ...told });
  file.write(codec, file.indexOf('mp4a'), 'latin1');
  // Whose configuration decoders would go by.
  file.write('free', file.indexOf('esds'), 'latin1');
  return file;
}

function changed(before: string, after: string): Buffer {
  const file = m4a({ toldSeconds: 1, toldTicks: 2 });
  Buffer.from(after, 'hex').copy(file, file.indexOf(before, 'hex'));
  return file;
}

function shortTimes(): Buffer {
  const file = m4a({ toldSeconds: 1 });
  file.writeUInt32BE(1, file.indexOf('stts') + 12);
  return file;
}

/** Of the track, not of the movie. */
function timescale(ticks: number): Buffer {
  const file = m4a({ toldSeconds: 1 });
  file.writeUInt32BE(ticks, file.indexOf('mdhd') + 16);
  return file;
}

/** Some decoders read the last. */
function strayTable(): Buffer {
  const file = m4a({ toldSeconds: 1, toldTicks: 2 });
  const at = file.indexOf('mvhd') + 40;
  file.write('stsz', at, 'latin1');
  return file;
}

/** @param entry duration in milliseconds, start, and rate as a number of 16.16 bits */
function edited(times: number, entry: readonly number[] = []): Buffer {
  const file = m4a();
  const list = Buffer.alloc(24 + entry.length * 4);
  list.writeUInt32BE(list.length, 0);
  list.write('edts\0\0\0\0elst', 4, 'latin1');
  list.writeUInt32BE(list.length - 8, 8);
  list.writeUInt32BE(times, 20);
  entry.forEach((value, index) => list.writeInt32BE(value, 24 + index * 4));
  const at = file.indexOf('mdia') - 4;
  const whole = Buffer.concat([file.subarray(0, at), list, file.subarray(at)]);
  for (const kind of ['moov', 'trak']) {
    const box = whole.indexOf(kind) - 4;
    whole.writeUInt32BE(whole.readUInt32BE(box) + list.length, box);
  }
  return whole;
}

/** What common programs write, in which there is more than sound and pictures. */
const ORDINARY: readonly (readonly [string, AudioFormat, Buffer])[] = [
  ['a film with a time code', 'm4a', mp4File({ seconds: MINUTE, bytes: 90, isFilm: true, more: ['tmcd', 'tmcd'] })],
  ['a book with chapters', 'm4a', mp4File({ seconds: MINUTE, bytes: 90, isFilm: false, more: ['text', 'text'] })],
  ['a film with subtitles', 'm4a', mp4File({ seconds: MINUTE, bytes: 90, isFilm: true, more: ['tx3g', 'sbtl'] })],
  ['WebM whose track says that it stretches nothing', 'webm', webmFile(MINUTE, 60_000, { trackScale: 1 })],
];

describe('containers whose heads and tables lie', () => {
  it.each(ORDINARY)('are not %s', (_name, format, file) => {
    const { longest } = audioLength(new AudioBytes([file]), format) as { longest: number };
    expect(longest).toBeCloseTo(MINUTE, 1);
  });

  it.each(MINUTES)('play as long as their frames, to a tenth of a second: %s', (_name, format, file, seconds) => {
    const length = audioLength(new AudioBytes([file]), format) as { seconds: number; longest: number };
    expect(length.seconds).toBeCloseTo(seconds, 1);
    expect(length.longest).toBeCloseTo(seconds, 1);
  });

  it.each(LONG_HELD)('are held for the longest that they can play: %s', (_name, format, file, seconds) => {
    const { longest } = audioLength(new AudioBytes([file]), format) as { longest: number };
    expect(longest).toBeGreaterThanOrEqual(seconds);
    expect(longest).toBeLessThan(seconds * 2.2);
  });
});
