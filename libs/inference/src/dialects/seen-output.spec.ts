import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { TEXT_SAMPLES } from '../testing/text-samples';
import { TextCounter } from '../model/text-tokens';
import { countSeen, NOTHING_SEEN } from './seen-output';

const PIECE = 3;

function countPieces(text: string): number {
  const counter = new TextCounter();
  for (let from = 0; from < text.length; from += PIECE) counter.addText(text.slice(from, from + PIECE));
  return countSeen({ ...NOTHING_SEEN, contentUnits: counter.units }).completion;
}

/** Lone halves of surrogate pairs are no text, so texts are cut between characters. */
const TEXTS = Object.entries({ ...TEXT_SAMPLES, ids: '3f2b8c1e-9d4a-4c67-b0e1-5a7c9e2d4f68\n'.repeat(50) }).filter(
  ([, text]) => !/[\u{10000}-\u{10ffff}]/u.test(text),
);

describe(countSeen.name, () => {
  it.each(TEXTS)('bills what was shown of %s by its words and not by its bytes', (_what, text) => {
    expect(countPieces(text) / encode(text).length).toBeGreaterThan(0.6);
  });

  it('counts a text that comes in pieces as the whole text', () => {
    for (const [, text] of TEXTS) {
      const whole = new TextCounter();
      whole.addText(text);
      expect(countPieces(text)).toBe(countSeen({ ...NOTHING_SEEN, contentUnits: whole.units }).completion);
    }
  });
});
