import { cutToTokens, pieces, tokensOf } from './tokens';

describe('the counting of tokens', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['abcd', 1],
    ['abcde', 2],
    ['äöü', 2],
    ['🙂', 1],
  ])('counts %j as %i', (text, tokens) => {
    expect(tokensOf(text)).toBe(tokens);
  });

  it('cuts between characters, to exactly the tokens asked for', () => {
    const text = 'aä🙂bcdefghijk🙂🙂lm';
    for (let tokens = 1; tokens < tokensOf(text); tokens += 1) {
      const cut = cutToTokens(text, tokens);
      expect(text.startsWith(cut)).toBe(true);
      expect(cut.isWellFormed()).toBe(true);
      expect(tokensOf(cut)).toBe(tokens);
    }
    expect(cutToTokens(text, 100)).toBe(text);
  });

  it.each(['one two', '  leading', 'trailing \n', '', ' ', 'a\n\nb  c'])(
    'streams %j without losing a character',
    (text) => {
      expect(pieces(text).join('')).toBe(text);
    },
  );
});
