import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateTextTokens, usualTextTokens } from './estimate';
import { TextCounter, UNITS_PER_TOKEN } from './text-tokens';
import { dearestPattern, generatedTexts, NATURAL_TEXTS } from '../testing/dear-texts';
import { TEXT_SAMPLES } from '../testing/text-samples';

const LEAST_SHARE = 0.6;
/** `SLUICE_CHAOS=full` draws more texts, and searches more often and for longer. */
const FULL = process.env.SLUICE_CHAOS === 'full';
const LEAST_BYTES = 500;

const realTokens = (text: string): number => Math.max(encodeO200k(text).length, encodeCl100k(text).length);
const shareOf = (text: string): number => estimateTextTokens(text) / realTokens(text);

function unitsOf(text: string): number {
  const json = Buffer.from(JSON.stringify(text));
  return new TextCounter().add(json, 1, json.length - 1).mostUnits;
}

/** Returns the share of the tokens of one more repetition, far from the ends of the text. */
function shareOfPattern(pattern: string): number {
  const [short, long] = [pattern.repeat(3), pattern.repeat(9)];
  const real = Math.max(
    encodeO200k(long).length - encodeO200k(short).length,
    encodeCl100k(long).length - encodeCl100k(short).length,
  );
  return real <= 0 ? Infinity : (unitsOf(long) - unitsOf(short)) / UNITS_PER_TOKEN / real;
}

function repeated(text: string): string {
  return `${text} `.repeat(Math.ceil(LEAST_BYTES / Buffer.byteLength(text)));
}

describe('the estimate of a text, in shares of its tokens in the dearer of two vocabularies', () => {
  it.each(FULL ? [1, 2] : [1])('is at least 0.6 for texts drawn from any alphabet, seed %i', (seed) => {
    const low = Object.entries(generatedTexts(seed))
      .map(([name, text]) => ({ name, share: shareOf(text) }))
      .filter(({ share }) => share < LEAST_SHARE);
    expect(low).toEqual([]);
  });

  it('is at least 0.6 for natural languages with long words or rare letters', () => {
    const low = Object.entries(NATURAL_TEXTS)
      .map(([name, text]) => ({ name, share: shareOf(repeated(text)) }))
      .filter(({ share }) => share < LEAST_SHARE);
    expect(low).toEqual([]);
  });

  it.each(FULL ? [11, 12, 13] : [11])('stays at least 0.6 under a search for dear patterns, seed %i', (seed) => {
    const { share, pattern } = dearestPattern(seed, FULL ? 2_500 : 1_500, shareOfPattern);
    expect({ pattern: JSON.stringify(pattern), least: Math.min(share, LEAST_SHARE) }).toMatchObject({
      least: LEAST_SHARE,
    });
  });

  it('is at least 0.6 for each character between words and alone', () => {
    const low: string[] = [];
    for (let point = 0x80; point < 0x1_0000; point += 7) {
      if (point >= 0xd800 && point < 0xe000) continue;
      const character = String.fromCodePoint(point);
      const real = realTokens(` ${character}`);
      if (unitsOf(` ${character}`) / UNITS_PER_TOKEN < LEAST_SHARE * real) low.push(point.toString(16));
    }
    expect(low).toEqual([]);
  });

  it.each(['English talk', 'TypeScript', 'Python', 'SQL', 'HTML', 'Markdown', 'JSON in a text', 'log lines'])(
    'is at most 1.6 for %s, and the estimate of ordinary text is near its tokens',
    (name) => {
      const text = TEXT_SAMPLES[name]!;
      expect(shareOf(text)).toBeLessThan(1.6);
      expect(usualTextTokens(text) / realTokens(text)).toBeGreaterThan(0.9);
      expect(usualTextTokens(text) / realTokens(text)).toBeLessThan(1.35);
    },
  );
});
