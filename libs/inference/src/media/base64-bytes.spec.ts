import { randomBytes } from 'node:crypto';
import { Base64Bytes, ReadBudget } from './base64-bytes';
import { pictureSize } from './picture-size';
import { playingTime } from './playing-time';
import { mp4File } from '../testing/mp4-files';
import { jpegFile, pngFile } from '../testing/picture-files';

const of = (base64: string, budget = new ReadBudget()): Base64Bytes => {
  const body = Buffer.from(`{"data":"${base64}"}`);
  return Base64Bytes.ofJson(body, 9, body.length - 2, budget);
};

describe(Base64Bytes.name, () => {
  it.each([0, 1, 2, 3, 1_000, 5_000])('reads any piece of %i bytes as a decoder would', (length) => {
    const file = randomBytes(length);
    const bytes = of(file.toString('base64'));
    expect(bytes.length).toBe(length);
    for (const [start, end] of [
      [0, 4],
      [1, 2],
      [length - 3, length + 9],
      [7, 4_000],
      [2_000, 2_001],
    ] as const) {
      expect(bytes.slice(start, end)).toEqual(file.subarray(Math.max(0, start), Math.max(0, end)));
    }
    expect(bytes.isSound && bytes.isPlain()).toBe(true);
  });

  it('reads base64 whose slashes are escaped', () => {
    const file = Buffer.alloc(300, 0xff);
    const bytes = of(file.toString('base64').replaceAll('/', '\\/'));
    expect(bytes.slice(0, 300)).toEqual(file);
    expect(bytes.isPlain()).toBe(true);
  });

  it('relies on nothing behind characters that some decoders pass over', () => {
    const base64 = jpegFile(4_000, 3_000, 20_000).toString('base64');
    const bytes = of(`${base64.slice(0, 8_000)}    ${base64.slice(8_000)}`);
    pictureSize(bytes);
    expect(bytes.isSound).toBe(false);
    expect(bytes.isPlain()).toBe(false);
  });

  it('reads no more than the budget of the body allows', () => {
    const budget = new ReadBudget(2);
    const picture = pngFile(10, 10).toString('base64');
    const all = Array.from({ length: 3 }, () => of(picture, budget));
    expect(all.map((bytes) => pictureSize(bytes))).toEqual([
      { width: 10, height: 10 },
      { width: 10, height: 10 },
      null,
    ]);
    expect(all.at(-1)!.isSound).toBe(false);
  });

  it('distinguishes a film from a recording', () => {
    const film = of(mp4File({ seconds: 9, bytes: 99, isFilm: true }).toString('base64'));
    const recording = of(mp4File({ seconds: 9, bytes: 99, isFilm: false }).toString('base64'));
    expect(playingTime(film)).toMatchObject({ hasPictures: true });
    expect(playingTime(recording)).toMatchObject({ hasPictures: false });
    expect(playingTime(of('AAAA'))).toBeNull();
  });
});
