import { editDistance, slipsBetween } from './edit-distance';

describe(editDistance.name, () => {
  it.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['chat', 'chat', 0],
    ['chat', 'chta', 1],
    ['chat', 'cht', 1],
    ['chat', 'chart', 1],
    ['chat', 'chit', 1],
    ['kitten', 'sitting', 3],
    ['ab', 'ba', 1],
  ])('counts the changes from "%s" to "%s"', (one, other, count) => {
    expect(editDistance(one, other)).toBe(count);
    expect(editDistance(other, one)).toBe(count);
  });
});

describe(slipsBetween.name, () => {
  it.each([
    ['message', 'messages', 1],
    ['compeltion', 'completions', 2],
    ['chat', 'chta', 1],
    ['cat', 'chat', null],
    ['chat', 'thata', null],
    ['completions', 'compleeetion', null],
    ['x', 'y', null],
  ])('allows more slips in longer texts: %s, %s', (one, other, slips) => {
    expect(slipsBetween(one, other)).toBe(slips);
  });
});
