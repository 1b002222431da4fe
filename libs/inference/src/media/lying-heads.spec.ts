import { checksum, mp4File, oggPage, opusHead } from '../testing';
import { AudioBytes } from '../audio/audio-bytes';
import { audioLength } from './audio-duration';
import type { AudioFormat } from './audio-format';
import { inlineMedia } from '../model/media-tokens';
import { MEDIA_LIMITS } from '../model/media-limits';
import { Base64Bytes, ReadBudget } from './base64-bytes';
import { playingTime } from './playing-time';

const HOUR = 3_600;
const DAY = 24 * HOUR;

const FLAC_RATE = 16_000;
const FLAC_BLOCK = 65_535;
const FLAC_BLOCK_SECONDS = FLAC_BLOCK / FLAC_RATE;

function streamInfo(samples: number): Buffer {
  const info = Buffer.alloc(34);
  info.writeUIntBE(FLAC_RATE << 4, 10, 3);
  info.writeUInt32BE(samples, 14);
  return info;
}

/** Silence: a constant subframe of 65,535 samples. */
function flacFrame(number: number): Buffer {
  const size = Buffer.alloc(2);
  size.writeUInt16BE(FLAC_BLOCK - 1);
  const head = Buffer.concat([Buffer.from('fff87508', 'hex'), Buffer.from(String.fromCodePoint(number)), size]);
  const frame = Buffer.concat([head, Buffer.from([checksum(head, 0x07, 8), 0, 0, 0])]);
  const end = Buffer.alloc(2);
  end.writeUInt16BE(checksum(frame, 0x8005, 16));
  return Buffer.concat([frame, end]);
}

const flacFrames = (count: number): Buffer[] => Array.from({ length: count }, (_, number) => flacFrame(number));

function flac(seconds: number, toldSeconds: number): Buffer {
  const head = Buffer.concat([Buffer.from('fLaC'), Buffer.from([0x80, 0, 0, 34]), streamInfo(toldSeconds * FLAC_RATE)]);
  return Buffer.concat([head, ...flacFrames(Math.round(seconds / FLAC_BLOCK_SECONDS))]);
}

interface OggTold {
  readonly head: Buffer;
  readonly packet: Buffer;
  readonly packetSamples: number;
  readonly packets: number;
  /** Of the last page, where it lies. */
  readonly toldSamples?: number;
  readonly serial?: number;
}

const PACKETS_OF_PAGE = 250;

function ogg({ head, packet, packetSamples, packets, toldSamples, serial = 7 }: OggTold): Buffer {
  const pages = [oggPage([head], 0n, { isFirst: true, serial })];
  for (let done = 0; done < packets; done += PACKETS_OF_PAGE) {
    const count = Math.min(PACKETS_OF_PAGE, packets - done);
    const position = toldSamples ?? (done + count) * packetSamples;
    pages.push(oggPage(Array<Buffer>(count).fill(packet), BigInt(position), { serial }));
  }
  return Buffer.concat(pages);
}

/** SILK of 60 ms, twice, in a packet whose frames have no bytes. */
const OPUS = { head: opusHead(), packet: Buffer.from([0x1b, 2]), packetSamples: 5_760 };
const OPUS_HOUR = HOUR / 0.12;

/** Appends numbers of some bits, the lowest first. */
function bits(numbers: readonly (readonly [number, number])[]): Buffer {
  const all = numbers.flatMap(([value, count]) => Array.from({ length: count }, (_, bit) => (value / 2 ** bit) & 1));
  const bytes = Buffer.alloc(Math.ceil(all.length / 8));
  all.forEach((bit, at) => (bytes[at >> 3]! |= bit << (at & 7)));
  return bytes;
}

/** Blocks of 256 and 2,048 samples at 44.1 kHz. */
function vorbisHead(): Buffer {
  const head = Buffer.alloc(30);
  head.write('\u0001vorbis', 0, 'latin1');
  head.writeUInt32LE(44_100, 12);
  head[28] = 0xb8;
  return head;
}

/** Something, the number of modes, the modes and the framing bit. */
function vorbisSetup(flags: readonly number[]): Buffer {
  const mode = (flag: number): (readonly [number, number])[] => [
    [flag, 1],
    [0, 32],
    [0, 8],
  ];
  const end = bits([[0x5a5a5a, 25], [flags.length - 1, 6], ...flags.flatMap(mode), [1, 1]]);
  return Buffer.concat([Buffer.from('\u0005vorbis', 'latin1'), Buffer.alloc(90, 0x5a), end]);
}

function vorbis(setup: Buffer, packet: number, packets: number, position: number): Buffer {
  const all = Array<Buffer>(packets).fill(Buffer.from([packet]));
  const pages = [oggPage([vorbisHead()], 0n, { isFirst: true }), oggPage([setup], 0n)];
  for (let at = 0; at < packets; at += 200) pages.push(oggPage(all.slice(at, at + 200), BigInt(position)));
  return Buffer.concat(pages);
}

/** A frame of AAC at 8 kHz with one silent block: 128 ms in eleven bytes. */
const ADTS_FRAME = Buffer.from('fff16c4001601c00000007', 'hex');
const adts = (frames: number): Buffer => Buffer.concat(Array<Buffer>(frames).fill(ADTS_FRAME));
/** The shortest frame at 96 kHz. */
const FAST_ADTS = Buffer.from('fff1404000e01c', 'hex');

/** MPEG-2.5, layer 3, 8 kbit/s at 8 kHz: 72 ms in 72 bytes. */
const MP3_FRAME = Buffer.concat([Buffer.from('ffe318c4', 'hex'), Buffer.alloc(68)]);
const mp3 = (frames: number): Buffer => Buffer.concat(Array<Buffer>(frames).fill(MP3_FRAME));
const BETWEEN = Buffer.from('x');

const lying = ogg({ ...OPUS, packets: OPUS_HOUR, toldSamples: 48_000 });
const other = ogg({ ...OPUS, packets: OPUS_HOUR, serial: 8 });

/** 12,000 frames. */
const M4A_SECONDS = 512;
const m4a = (told: { toldSeconds?: number; toldTicks?: number } = {}): Buffer =>
  mp4File({ seconds: M4A_SECONDS, bytes: 9_000, isFilm: false, ...told });

/** The entry of its track says another rate than the configuration of the decoder. */
function fastM4a(): Buffer {
  const file = m4a({ toldSeconds: 1, toldTicks: 2 });
  file.writeUInt16BE(65_535, file.indexOf('mp4a') + 28);
  return file;
}

/** Files by what they say, and how long decoders play them. */
const FILES: readonly (readonly [string, AudioFormat, Buffer, number])[] = [
  ['FLAC that says how long it is', 'flac', flac(HOUR, 879 * FLAC_BLOCK_SECONDS), 879 * FLAC_BLOCK_SECONDS],
  ['FLAC that says a second', 'flac', flac(HOUR, 1), 879 * FLAC_BLOCK_SECONDS],
  ['FLAC that does not say it', 'flac', flac(HOUR, 0), 879 * FLAC_BLOCK_SECONDS],
  ['FLAC of days', 'flac', flac(3 * DAY, 1), DAY],
  [
    'FLAC behind a tag',
    'flac',
    Buffer.concat([Buffer.from('ID3\u0004\0\0\0\0\0\u0010'), Buffer.alloc(16), flac(HOUR, 1)]),
    879 * FLAC_BLOCK_SECONDS,
  ],
  ['M4A that says how long it is', 'm4a', m4a(), M4A_SECONDS],
  ['M4A that says a second', 'm4a', m4a({ toldSeconds: 1 }), M4A_SECONDS],
  ['M4A that says a second in its table too', 'm4a', m4a({ toldSeconds: 1, toldTicks: 2 }), M4A_SECONDS],
  ['M4A that says a second and another rate', 'm4a', fastM4a(), M4A_SECONDS],
  ['Opus that says how long it is', 'ogg', ogg({ ...OPUS, packets: OPUS_HOUR }), HOUR],
  ['Opus that ends within a packet', 'ogg', ogg({ ...OPUS, packets: 10, toldSamples: 55_000 }), 55_000 / 48_000],
  ['Opus that says a second', 'ogg', lying, HOUR],
  ['Opus that says nothing', 'ogg', ogg({ ...OPUS, packets: OPUS_HOUR, toldSamples: -1 }), HOUR],
  ['two Opus streams, one behind the other', 'ogg', Buffer.concat([lying, other]), 2 * HOUR],
  ['an Opus stream twice', 'ogg', Buffer.concat([lying, lying]), 2 * HOUR],
  ['Opus with a page around its pages', 'ogg', Buffer.concat([lying, pageAround(other)]), 2 * HOUR],
  ['Vorbis that says how long it is', 'ogg', vorbis(vorbisSetup([0, 1]), 2, 4_000, 4_096_000), 4_096_000 / 44_100],
  ['Vorbis of short blocks', 'ogg', vorbis(vorbisSetup([0, 1]), 0, 4_000, 512_000), 512_000 / 44_100],
  ['Vorbis that says a second', 'ogg', vorbis(vorbisSetup([0, 1]), 2, 4_000, 44_100), 4_096_000 / 44_100],
  ['Vorbis of short blocks that says a second', 'ogg', vorbis(vorbisSetup([0, 1]), 0, 4_000, 44_100), 512_000 / 44_100],
  ['Vorbis with unusual modes', 'ogg', vorbis(vorbisSetup([1, 1]), 0, 4_000, 44_100), 4_096_000 / 44_100],
];

/** Where something is no frame. Reservations count it at the least bitrate, so that they are longer. */
const GAPS: readonly (readonly [string, AudioFormat, Buffer, number])[] = [
  ['AAC without gaps', 'aac', adts(1_000), 128],
  ['AAC with a gap behind its first frame', 'aac', Buffer.concat([adts(1), BETWEEN, adts(999)]), 128],
  [
    'AAC with a gap behind each frame',
    'aac',
    Buffer.concat(Array(1_000).fill([ADTS_FRAME, BETWEEN]).flat() as Buffer[]),
    128,
  ],
  [
    'AAC behind many short frames',
    'aac',
    Buffer.concat([...Array<Buffer>(200_000).fill(FAST_ADTS), adts(100_000)]),
    (200_000 * 1_024) / 96_000 + 12_800,
  ],
  ['MP3 without gaps', 'mp3', mp3(1_000), 72],
  ['MP3 with a gap behind its second frame', 'mp3', Buffer.concat([mp3(2), BETWEEN, mp3(998)]), 72],
  [
    'MP3 with a gap behind each frame',
    'mp3',
    Buffer.concat([mp3(2), ...(Array(998).fill([BETWEEN, MP3_FRAME]).flat() as Buffer[])]),
    72,
  ],
];

/** A page of the stream before, whose packets have the bytes of `pages` as their content. */
function pageAround(pages: Buffer): Buffer {
  const page = oggPage([], -1n);
  page[26] = 255;
  return Buffer.concat([page, Buffer.alloc(255, 255), pages]);
}

describe('files whose heads lie', () => {
  it.each(FILES)('play as long as their frames: %s', (_name, format, file, seconds) => {
    const audio = new AudioBytes([file]);
    expect(playingTime(audio)?.longest).toBeCloseTo(seconds, 6);
    const length = audioLength(audio, format);
    expect(length).toMatchObject({ isEstimated: false });
    expect((length as { seconds: number }).seconds).toBeCloseTo(seconds, 6);
  });

  it.each(GAPS)('play as long as all of their frames: %s', (_name, format, file, seconds) => {
    const audio = new AudioBytes([file]);
    const length = audioLength(audio, format) as { seconds: number };
    expect(length).toMatchObject({ isEstimated: false });
    expect(length.seconds).toBeCloseTo(seconds, 4);
    expect(playingTime(audio)!.longest).toBeGreaterThanOrEqual(length.seconds);
    expect(playingTime(audio)!.longest).toBeLessThan(length.seconds * 1.1);
  });
});

describe('sound in base64 that is not plain', () => {
  const text = flac(8 * HOUR, 1)
    .toString('base64')
    .replaceAll('=', '');
  const tokensOf = (base64: string, budget = new ReadBudget()): number => {
    const bytes = Buffer.from(base64);
    return inlineMedia('audio', null, Base64Bytes.ofJson(bytes, 0, bytes.length, budget)).tokens;
  };

  it.each([' ', '!', '.', '='])('is not known with %j inside, which decoders pass over or not', (stray) => {
    expect(tokensOf(`${text.slice(0, 5_000)}${stray}${text.slice(5_000)}`)).toBe(MEDIA_LIMITS.unknown);
  });

  it('is known in lines as some encoders write them', () => {
    const lines = flac(60, 1)
      .toString('base64')
      .match(/.{1,76}/g)!;
    expect(tokensOf(lines.map((line) => `${line}\\n`).join(''))).toBe(tokensOf(lines.join('')));
  });

  it('is not known where not all of it was read', () => {
    expect(tokensOf(text, new ReadBudget(1))).toBe(MEDIA_LIMITS.unknown);
  });
});
