import { readMorse, speakMorse } from './morse';
import { findSegments, type SoundSegment } from './sound-segments';
import { readWave } from './wave';

const heard = async (file: Buffer): Promise<readonly string[] | null> => {
  const words = readMorse(await findSegments(readWave(file)!));
  return words && words.map(({ text }) => text);
};

describe('Morse code', () => {
  it.each(['SOS', 'SLUICE CAN HEAR YOU', 'ABCDEFGHIJKLM NOPQRSTUVWXYZ', '0123456789', 'EISH TMO EEEEE'])(
    'is heard as it was spoken: %s',
    async (text) => {
      expect(await heard(speakMorse(text))).toEqual(text.split(' '));
    },
  );

  it('says when each word was spoken, and passes over what has no code', async () => {
    const file = speakMorse(' heron,  no. 7 ');
    const words = readMorse(await findSegments(readWave(file)!))!;
    expect(words.map(({ text }) => text)).toEqual(['HERON', 'NO', '7']);
    const { durationSeconds } = readWave(file)!;
    const times = words.flatMap(({ startSeconds, endSeconds }) => [startSeconds, endSeconds]);
    expect(times).toEqual(times.toSorted((left, right) => left - right));
    expect([times[0], times.at(-1)]).toEqual([0, durationSeconds]);
  });

  const segment = (kind: SoundSegment['kind'], seconds: number, frequencyHz = kind === 'tone' ? 440 : 0) =>
    ({ kind, seconds, frequencyHz }) as const;
  const after = (parts: readonly ReturnType<typeof segment>[]): SoundSegment[] => {
    let at = 0;
    return parts.map(({ kind, seconds, frequencyHz }) => {
      const startSeconds = at;
      at += seconds;
      return { kind, frequencyHz, startSeconds, endSeconds: at };
    });
  };
  const dot = segment('tone', 0.1);
  const gap = segment('silence', 0.1);
  const fiveDots = [dot, gap, dot, gap, dot, gap, dot, gap, dot];

  it('is five short tones, and not what only sounds like them', () => {
    expect(readMorse(after(fiveDots))).toMatchObject([{ text: '5' }]);
    expect(readMorse([])).toBeNull();
    expect(readMorse(after(fiveDots.slice(2)))).toBeNull();
    expect(readMorse(after([...fiveDots, segment('silence', 1), dot]))).toBeNull();
    expect(readMorse(after([...fiveDots, gap, segment('tone', 0.2)]))).toBeNull();
    expect(readMorse(after([...fiveDots, gap, segment('tone', 0.1, 880)]))).toBeNull();
    expect(readMorse(after([dot, segment('sound', 0.1), ...fiveDots]))).toBeNull();
    expect(readMorse(after([...fiveDots, gap, dot]))).toBeNull();
  });
});
