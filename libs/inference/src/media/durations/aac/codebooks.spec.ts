import { Bits } from './bits';
import { SCALE_FACTORS, SPECTRUM, type Codebook } from './codebooks';

/** Every beginning of 24 bits leads to a word, and the words fill all beginnings. */
function lengthsOf(book: Codebook): Map<number, number> {
  const lengths = new Map<number, number>();
  const bytes = Buffer.alloc(4);
  for (let ahead = 0; ahead < 2 ** 19;) {
    bytes.writeUInt32BE((ahead << 13) >>> 0);
    const bits = new Bits(bytes);
    book.read(bits);
    lengths.set(bits.position, (lengths.get(bits.position) ?? 0) + 1);
    ahead += 2 ** (19 - bits.position);
  }
  return lengths;
}

describe('codebooks of AAC', () => {
  it.each(SPECTRUM.map((book, at) => [at + 1, book] as const))(
    'have in book %i a word for each value',
    (number, book) => {
      const words = [...lengthsOf(book).values()].reduce((sum, count) => sum + count, 0);
      const values = number < 7 ? 81 : { 7: 64, 8: 64, 9: 169, 10: 169, 11: 289 }[number];
      expect(words).toBe(values);
    },
  );

  it('have 121 words of scale factors, of at most 19 bits', () => {
    const lengths = lengthsOf(SCALE_FACTORS);
    expect([...lengths.values()].reduce((sum, count) => sum + count, 0)).toBe(121);
    expect(Math.max(...lengths.keys())).toBe(19);
  });

  it('have as many signs as values that are not zero, over all words', () => {
    const signs = [3, 4, 7, 8, 9, 10].map((number) => {
      const book = SPECTRUM[number - 1]!;
      let sum = 0;
      const bytes = Buffer.alloc(4);
      for (let ahead = 0; ahead < 2 ** 19;) {
        bytes.writeUInt32BE((ahead << 13) >>> 0);
        const bits = new Bits(bytes);
        sum += book.read(bits);
        ahead += 2 ** (19 - bits.position);
      }
      return sum;
    });
    // Of four values up to 2, and of two up to 7 and 12.
    expect(signs).toEqual([216, 216, 112, 112, 312, 312]);
  });
});
