import { includesText } from './includes-text';

describe(includesText.name, () => {
  it('finds what the search of the language finds, in all texts of two letters', () => {
    const texts = (length: number): string[] =>
      Array.from({ length: 2 ** length }, (_, number) => number.toString(2).padStart(length, '0'));
    for (let length = 1; length <= 5; length += 1) {
      for (const search of texts(length)) {
        const wrong = texts(9).filter((text) => includesText(text, search) !== text.includes(search));
        expect(wrong).toEqual([]);
      }
    }
  });

  it('finds nothing in every text, and long texts in none that are shorter', () => {
    expect(includesText('', '')).toBe(true);
    expect(includesText('ab', '')).toBe(true);
    expect(includesText('ab', 'abc')).toBe(false);
    expect(includesText('x\u{1F600}y', '\u{1F600}')).toBe(true);
  });
});
