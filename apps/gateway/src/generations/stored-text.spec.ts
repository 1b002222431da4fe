import { storedText } from './stored-text';

describe(storedText.name, () => {
  it.each([
    ['stop', 'stop'],
    ['x'.repeat(300), 'x'.repeat(256)],
    [`${'x'.repeat(255)}😀`, `${'x'.repeat(255)}\ufffd`],
    ['a\0b', undefined],
    ['', undefined],
    [null, undefined],
    [7, undefined],
  ])('keeps of %j what PostgreSQL can hold', (text, kept) => {
    expect(storedText(text)).toBe(kept);
  });
});
