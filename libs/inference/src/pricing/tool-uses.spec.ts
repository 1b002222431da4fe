import { mostUses } from './tool-uses';

describe(mostUses.name, () => {
  it('takes the greater count of each', () => {
    const [one, other] = [
      new Map([
        ['mcp', 1],
        ['shell', 2],
      ]),
      new Map([['mcp', 3]]),
    ];
    expect(mostUses(one, other)).toEqual(
      new Map([
        ['mcp', 3],
        ['shell', 2],
      ]),
    );
    expect(mostUses(one, undefined)).toBe(one);
    expect(mostUses(undefined, undefined)).toBeUndefined();
  });
});
