import { mp4File, oggPage, opusHead, SILENT_BLOCK, waveFile, webmFile } from '../testing';
import { AudioBytes, AudioCollector } from '../audio/audio-bytes';
import { audioLength } from './audio-duration';
import { AUDIO_FORMATS, looksLike, type AudioFormat } from './audio-format';

/** One frame of MPEG-1 layer 3: 128 kbit/s, 44.1 kHz, 1,152 samples in 417 bytes. */
function mp3(frames: number): Buffer {
  const frame = Buffer.alloc(417);
  frame.writeUInt32BE(0xfffb9000);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}

/** One ADTS frame: 44.1 kHz, 1,024 samples in 200 bytes. */
function aac(frames: number): Buffer {
  const frame = Buffer.alloc(200);
  const bytes = frame.length;
  frame.set([0xff, 0xf1, 0x50, 0x80 | (bytes >> 11), (bytes >> 3) & 0xff, (bytes & 7) << 5, 0xfc]);
  SILENT_BLOCK.copy(frame, 7);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}

function flac(samples: number): Buffer {
  const file = Buffer.alloc(600);
  file.write('fLaC', 0, 'latin1');
  file.writeUIntBE(34, 5, 3);
  file.writeUIntBE(16_000 << 4, 18, 3);
  file.writeUInt32BE(samples, 22);
  return file;
}

function opus(samples: bigint): Buffer {
  return Buffer.concat([
    oggPage([opusHead(312)], 0n, { isFirst: true }),
    oggPage([Buffer.alloc(200)], samples + 312n),
    oggPage([Buffer.alloc(9)], -1n),
  ]);
}

function vorbis(samples: bigint): Buffer {
  const head = Buffer.alloc(30);
  head.write('\u0001vorbis', 0, 'latin1');
  head.writeUInt32LE(44_100, 12);
  return Buffer.concat([oggPage([head], 0n, { isFirst: true }), oggPage([Buffer.alloc(200)], samples)]);
}

function chunk(name: string, content: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(content.length);
  return Buffer.concat([Buffer.from(name), size, content]);
}

/** The head of a wave of eight channels of 32 bits at 192 kHz. */
function fastHead(): Buffer {
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0);
  format.writeUInt16LE(8, 2);
  format.writeUInt32LE(192_000, 4);
  format.writeUInt16LE(32, 14);
  return chunk('fmt ', format);
}

function withChunk(file: Buffer, at: number, added: Buffer): Buffer {
  return Buffer.concat([file.subarray(0, at), added, file.subarray(at)]);
}

/** In pieces of a few bytes, as a slow socket brings them. */
function inPieces(file: Buffer, bytes: number): AudioBytes {
  const pieces: Buffer[] = [];
  for (let at = 0; at < file.length; at += bytes) pieces.push(file.subarray(at, at + bytes));
  return new AudioBytes(pieces);
}

const RECORDINGS: readonly (readonly [string, AudioFormat, Buffer, number])[] = [
  ['wav', 'wav', waveFile(2.5), 2.5],
  ['mp3', 'mp3', mp3(100), (100 * 1_152) / 44_100],
  [
    'mp3 behind a tag',
    'mp3',
    Buffer.concat([Buffer.from('ID3\u0004\0\0\0\0\0\u0010'), Buffer.alloc(16), mp3(50)]),
    (50 * 1_152) / 44_100,
  ],
  ['aac', 'aac', aac(100), (100 * 1_024) / 44_100],
  ['flac', 'flac', flac(40_000), 2.5],
  ['opus', 'ogg', opus(120_000n), 2.5],
  ['vorbis', 'ogg', vorbis(110_250n), 2.5],
  ['m4a', 'm4a', mp4File({ seconds: 512, bytes: 900, isFilm: false }), 512],
  ['webm of a browser', 'webm', webmFile(3, 3_000), 3],
  ['pcm', 'pcm', Buffer.alloc(80_000), 2.5],
];

describe(audioLength.name, () => {
  it.each(RECORDINGS)('measures %s', (_name, format, file, seconds) => {
    for (const pieceBytes of [file.length, 7, 64]) {
      const audio = inPieces(file, pieceBytes);
      expect(looksLike(format, audio)).toBe(true);
      const length = audioLength(audio, format);
      expect(length).toMatchObject({ isEstimated: false });
      expect((length as { seconds: number }).seconds).toBeCloseTo(seconds, 6);
    }
  });

  it.each(RECORDINGS)('never believes a %s that is cut, filled with noise, or empty', (_name, format, file) => {
    for (let keep = 0; keep < Math.min(file.length, 200); keep += 3) {
      const cut = audioLength(new AudioBytes([file.subarray(0, keep)]), format);
      const noisy = audioLength(new AudioBytes([file.subarray(0, keep), Buffer.alloc(300, 0xff)]), format);
      for (const length of [cut, noisy]) {
        if (length !== 'broken') expect(length.seconds).toBeGreaterThanOrEqual(0);
        if (length !== 'broken') expect(length.seconds).toBeLessThanOrEqual(24 * 3_600);
      }
    }
  });

  it('charges by the bytes what says to be shorter than its bytes can be', () => {
    const lying = Buffer.concat([flac(16), Buffer.alloc(10_000_000)]);
    expect(audioLength(new AudioBytes([lying]), 'flac')).toMatchObject({
      seconds: (lying.length * 8) / 10_000_000,
      isEstimated: true,
    });
  });

  it.each<[string, (file: Buffer) => Buffer]>([
    ['names blocks of 65,535 bytes', (file) => (file.writeUInt16LE(65_535, 32), file)],
    ['has a second head with a faster rate', (file) => withChunk(file, 12, fastHead())],
    ['has its samples in a second chunk', (file) => withChunk(file, 36, chunk('data', Buffer.alloc(2)))],
  ])('measures a wave by its channels, bits and samples, though it %s', (_what, change) => {
    const length = audioLength(new AudioBytes([change(waveFile(10))]), 'wav');
    expect((length as { seconds: number }).seconds).toBeCloseTo(10, 3);
  });

  it('charges a wave by its bytes where it names more bytes a second than any recording has', () => {
    const file = waveFile(10);
    file.writeUInt32LE(4_000_000_000, 24);
    const seconds = (file.length * 8) / 49_152_000;
    expect(audioLength(new AudioBytes([file]), 'wav')).toMatchObject({ seconds, isEstimated: true });
  });

  it('charges a compressed wave by its bytes where it names more bytes a second than its codec has', () => {
    const file = waveFile(10);
    file.writeUInt16LE(0x55, 20);
    file.writeUInt32LE(4_000_000_000, 28);
    const length = audioLength(new AudioBytes([file]), 'wav') as { seconds: number };
    expect(length.seconds).toBeCloseTo((file.length - 44) / 125_000, 6);
  });

  it('guesses by the size where nothing is said', () => {
    expect(audioLength(new AudioBytes([Buffer.alloc(80_000)]), 'webm')).toMatchObject({
      seconds: 10,
      isEstimated: true,
    });
  });

  it.each([
    ['has no samples', waveFile(0)],
    ['claims more than there is', ((file) => (file.writeUInt32LE(0x7fff_ffff, 40), file))(waveFile(1))],
    ['has no data', waveFile(1).subarray(0, 36)],
  ])('calls a wave broken that %s', (_what, file) => {
    expect(audioLength(new AudioBytes([file]), 'wav')).toBe('broken');
  });
});

describe(looksLike.name, () => {
  it('takes no format for another', () => {
    for (const [, format, file] of RECORDINGS) {
      const audio = new AudioBytes([file]);
      const others = AUDIO_FORMATS.filter((other) => other !== 'pcm' && other !== format && looksLike(other, audio));
      // Files of several formats may begin with a tag.
      expect(others.filter(() => !file.toString('latin1', 0, 3).startsWith('ID3'))).toEqual([]);
    }
  });
});

describe(AudioCollector.name, () => {
  it('gathers what is small and keeps what is large as it is', () => {
    const collector = new AudioCollector(1_000_000);
    const large = Buffer.alloc(65_536, 1);
    for (const piece of [Buffer.from('ab'), Buffer.from('c'), large, Buffer.from('d')]) collector.add(piece);
    const pieces = [...collector.toAudio()];
    expect(pieces.map((piece) => piece.length)).toEqual([3, 65_536, 1]);
    expect(pieces[1]).toBe(large);
    expect(collector.toAudio().slice(2, 5)).toEqual(Buffer.from('c\u0001\u0001'));
  });

  it('lets go of everything when it is too much', () => {
    const collector = new AudioCollector(3);
    expect(collector.add(Buffer.from('abc'))).toBe(true);
    expect(collector.add(Buffer.from('d'))).toBe(false);
    expect(collector.toAudio().length).toBe(0);
  });
});
