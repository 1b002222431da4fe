import { adtsFrames, encodedSound, SILENT_BLOCK } from '../../../testing';
import { BAND_WIDTHS } from './bands';
import { isOneBlock } from './block';

const FRAMES = (['mono.aac', 'stereo.aac', 'surround.aac'] as const).map(
  (name) => [name, adtsFrames(encodedSound(name))] as const,
);

describe(isOneBlock.name, () => {
  it.each(FRAMES)('is true of each frame of %s', (_name, frames) => {
    expect(frames.length).toBeGreaterThan(15);
    expect(frames.filter(({ block, rateCode }) => !isOneBlock(block, rateCode))).toEqual([]);
  });

  it.each(FRAMES)('is true of frames of %s with zeros behind them', (_name, frames) => {
    const padded = frames.map(({ block, rateCode }) => isOneBlock(Buffer.concat([block, Buffer.alloc(9)]), rateCode));
    expect(new Set(padded)).toEqual(new Set([true]));
  });

  it.each(FRAMES)('is false of two frames of %s', (_name, frames) => {
    const doubled = frames.map(({ block, rateCode }, at) =>
      isOneBlock(Buffer.concat([block, frames[(at + 1) % frames.length]!.block]), rateCode),
    );
    expect(new Set(doubled)).toEqual(new Set([false]));
  });

  it.each(FRAMES)('is false of frames of %s with silence behind them', (_name, frames) => {
    const followed = frames.map(({ block, rateCode }) => isOneBlock(Buffer.concat([block, SILENT_BLOCK]), rateCode));
    expect(new Set(followed)).toEqual(new Set([false]));
  });

  it.each(FRAMES)('is false of frames of %s without their last two bytes', (_name, frames) => {
    const cut = frames.map(({ block, rateCode }) => isOneBlock(block.subarray(0, -2), rateCode));
    expect(new Set(cut)).toEqual(new Set([false]));
  });

  it('ends for any bytes', () => {
    let seed = 1;
    const next = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) >> 16;
    for (let round = 0; round < 20_000; round += 1) {
      const bytes = Buffer.from(Array.from({ length: next() % 60 }, next));
      expect(typeof isOneBlock(bytes, next() % 13)).toBe('boolean');
    }
  });

  it('is false at a sample rate without a code', () => {
    expect(isOneBlock(SILENT_BLOCK, 3)).toBe(true);
    expect(isOneBlock(SILENT_BLOCK, 13)).toBe(false);
  });
});

describe('bands of windows', () => {
  it('have 1,024 and 128 values at each sample rate', () => {
    const sums = BAND_WIDTHS.map(({ long, short }) =>
      [long, short].map((all) => all.reduce((sum, one) => sum + one, 0)),
    );
    expect(sums).toEqual(Array(13).fill([1_024, 128]));
  });
});
