import { Base64Bytes, ReadBudget } from '../media/base64-bytes';
import { fragmentedMp4, mp4File } from '../testing/mp4-files';
import { pngFile } from '../testing/picture-files';
import { MEDIA_LIMITS, PICTURE_LIMITS } from './media-limits';
import { filmTokens } from '../pricing/prompt-kinds';
import { inlineMedia, soundTokens, type CountedMedia, type MediaKind } from './media-tokens';

const HOUR = 3_600;

function counted(kind: MediaKind, type: string | null, file: Buffer, budget = new ReadBudget()): CountedMedia {
  const base64 = Buffer.from(file.toString('base64'));
  return inlineMedia(kind, type, Base64Bytes.ofJson(base64, 0, base64.length, budget));
}

function tokensOf(kind: MediaKind, file: Buffer, budget?: ReadBudget): number {
  return counted(kind, null, file, budget).tokens;
}

/** Parameters whose words are those of types of text. */
const PARAMETERS = [';x=json', '; charset=xml', ' ; text/plain=yaml', ';name="a.csv"'] as const;

/** Bytes that begin like a format, and go on with silence or a still picture. */
const beginning = (head: string, bytes = 4_000): Buffer =>
  Buffer.concat([Buffer.from(head, 'latin1'), Buffer.alloc(bytes)]);

describe(inlineMedia.name, () => {
  it.each(['audio', 'video'] as const)('counts the seconds of an MP4 with a list of titles: %s', (kind) => {
    const isFilm = kind === 'video';
    const tokens = tokensOf(kind, mp4File({ seconds: HOUR, bytes: 3_000, isFilm, hasTitles: true }));
    const { secondOfFilm, secondOfSound } = MEDIA_LIMITS;
    expect(tokens / (HOUR * (isFilm ? secondOfFilm : secondOfSound))).toBeCloseTo(1, 2);
  });

  it.each([
    ['movie', true],
    ['fragment', true],
    ['samples', true],
    ['movie', false],
    ['fragment', false],
    ['samples', false],
  ] as const)('counts the seconds of an MP4 in fragments, with times in %s (film: %s)', (times, isFilm) => {
    const tokens = tokensOf(isFilm ? 'video' : 'audio', fragmentedMp4({ fragments: HOUR, isFilm, times }));
    const { secondOfFilm, secondOfSound } = MEDIA_LIMITS;
    expect(tokens / (HOUR * (isFilm ? secondOfFilm : secondOfSound))).toBeGreaterThan(0.97);
    expect(tokens / (HOUR * (isFilm ? secondOfFilm : secondOfSound))).toBeLessThan(1.03);
  });

  it.each([
    ['AIFF', 'audio', beginning('FORM\0\u0005\0\0AIFFCOMM')],
    ['AMR', 'audio', beginning('#!AMR\n')],
    ['AVI', 'video', beginning('RIFF\0\0\0\0AVI LIST')],
    ['Flash', 'video', beginning('FLV\u0001\u0005')],
    ['Windows Media', 'video', beginning('\x30\x26\xb2\x75\x8e\x66\xcf\x11')],
    ['an MPEG stream', 'video', beginning('\x47\x40\x11\x10')],
    ['MP4 whose fragments say nothing', 'video', mp4File({ seconds: 1, bytes: 900, isFilm: true, isFragmented: true })],
  ] as const)('counts as much as a provider reads where bytes do not bound the time: %s', (_name, kind, file) => {
    expect(tokensOf(kind, file)).toBe(MEDIA_LIMITS.unknown);
  });

  it.each(PARAMETERS)('counts a film and a picture by their types alone, without %s', (parameter) => {
    const film = mp4File({ seconds: HOUR, bytes: 900, isFilm: true });
    const ofFilm = counted('file', `video/mp4${parameter}`, film);
    expect(ofFilm).toEqual(counted('file', 'video/mp4', film));
    expect(ofFilm.tokens).toBeGreaterThanOrEqual(HOUR * MEDIA_LIMITS.secondOfFilm * 0.99);
    const picture = pngFile(6_000, 6_000);
    const ofPicture = counted('image', `image/png${parameter}`, picture);
    expect(ofPicture).toEqual(counted('image', null, picture));
    expect(ofPicture).toMatchObject({ kind: 'image', tokens: PICTURE_LIMITS.other });
  });

  it.each(['text/plain; charset=utf-8', 'application/json; charset=utf-8', 'application/xml;version=1'])(
    'counts text whose type has a parameter: %s',
    (type) => {
      expect(counted('file', type, Buffer.from('some words '.repeat(100))).kind).toBeNull();
    },
  );

  it('measures the recordings of one body until it has looked at too many places in them', () => {
    const budget = new ReadBudget();
    const noise = Buffer.concat([Buffer.from('ID3\u0004\0\0\0\0\0\0', 'latin1'), Buffer.alloc(4_000, 0xff)]);
    for (let file = 0; file < 1_000; file += 1) tokensOf('audio', noise, budget);
    expect(budget.isSpent).toBe(true);
    expect(tokensOf('audio', mp4File({ seconds: 1, bytes: 900, isFilm: false }), budget)).toBe(MEDIA_LIMITS.unknown);
  });
});

describe(filmTokens.name, () => {
  it.each([1, 300, 90_000])('is no less than the tokens of the film whose sound is known: %d', (tokens) => {
    expect(filmTokens(soundTokens('video', tokens))).toBeGreaterThanOrEqual(tokens);
  });
});
