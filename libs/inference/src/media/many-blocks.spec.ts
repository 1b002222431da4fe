import { adtsFrames, encodedSound, mp4File, SILENT_BLOCK, webmFile, type EncodedSound } from '../testing';
import { AudioBytes } from '../audio/audio-bytes';
import { audioLength } from './audio-duration';
import type { AudioFormat } from './audio-format';

const FILES: readonly (readonly [EncodedSound, AudioFormat, number])[] = [
  ['mono.aac', 'aac', 1.088],
  ['stereo.aac', 'aac', 1.045],
  ['surround.aac', 'aac', 0.533],
  ['mono.m4a', 'm4a', 1.088],
  ['fragments.m4a', 'm4a', 1.088],
  ['mono.mka', 'webm', 1.088],
];
const HOLDS_MONO = FILES.filter(([name]) =>
  encodedSound(name).includes(adtsFrames(encodedSound('mono.aac'))[9]!.block),
);

/** The file with as many silent blocks in each frame as it has room for. */
function silenced(name: EncodedSound): Buffer {
  const file = Buffer.from(encodedSound(name));
  for (const { block } of adtsFrames(encodedSound('mono.aac'))) {
    const at = file.indexOf(block);
    file.fill(SILENT_BLOCK, at, at + block.length);
  }
  return file;
}

/** Of what nothing bounds, the longest that is counted is a day. */
const DAY = 24 * 3_600;

function longestOf(file: Buffer, format: AudioFormat): number {
  return (audioLength(new AudioBytes([file]), format) as { longest: number }).longest;
}

describe('frames of AAC with several blocks, which decoders play one after another', () => {
  it.each(FILES)('are none of those that an encoder writes: %s', (name, format, seconds) => {
    const length = audioLength(new AudioBytes([encodedSound(name)]), format);
    expect(length).toMatchObject({ isEstimated: false });
    expect((length as { longest: number }).longest).toBeCloseTo(seconds, 2);
  });

  it.each(HOLDS_MONO)('leave unknown how long %s plays', (name, format) => {
    expect(longestOf(silenced(name), format)).toBe(DAY);
  });

  it('are found where a tenth of a long file has them', () => {
    const frames = Array.from({ length: 40_000 }, (_, at) => adts(at % 10 === 0 ? 30 : 1));
    expect(longestOf(Buffer.concat(frames), 'aac')).toBe(DAY);
  });

  it('are not there in a long file of one block in each frame', () => {
    expect(longestOf(Buffer.concat(Array<Buffer>(40_000).fill(adts(1))), 'aac')).toBeCloseTo(
      (40_000 * 1_024) / 48_000,
      2,
    );
  });

  it('may be of any size in MP4, where samples may share their bytes', () => {
    expect(longestOf(mp4File({ seconds: 60, bytes: 8_000, isFilm: false, blocks: 2 }), 'm4a')).toBe(DAY);
    expect(longestOf(mp4File({ seconds: 60, bytes: 8_000, isFilm: false, blocks: 2_000 }), 'm4a')).toBe(DAY);
  });

  it('may be in any packet of Matroska', () => {
    const told = { codec: 'A_AAC', configuration: Buffer.from('1308', 'hex') };
    const silent = webmFile(60, 0, { ...told, packet: SILENT_BLOCK });
    expect(longestOf(silent, 'webm')).toBeCloseTo(60, 0);
    expect(longestOf(webmFile(60, 0, { ...told, packet: Buffer.concat([SILENT_BLOCK, SILENT_BLOCK]) }), 'webm')).toBe(
      DAY,
    );
    expect(longestOf(webmFile(60, 0, { codec: 'A_AAC', packet: SILENT_BLOCK }), 'webm')).toBe(DAY);
  });
});

/** A frame at 48 kHz. */
function adts(blocks: number): Buffer {
  const bytes = 7 + blocks * SILENT_BLOCK.length;
  const head = Buffer.from([0xff, 0xf1, 0x4c, 0x40 | (bytes >> 11), (bytes >> 3) & 0xff, (bytes & 7) << 5, 0xfc]);
  return Buffer.concat([head, ...Array<Buffer>(blocks).fill(SILENT_BLOCK)]);
}
